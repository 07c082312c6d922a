// SPDX-License-Identifier: GPL-2.0-only
/* The words of a table line, checked one by one. */
#include "table.h"

#include "plan.h"
#include "policy.h"

/*
 * ti->error is read after the constructor has freed its memory, so composed lines are kept
 * here.  There are several, as constructors run side by side.
 */
int tier_reason(char **error, const char *fmt, ...)
{
	static char lines[8][200];
	static atomic_t next;
	char *line = lines[(unsigned int)atomic_inc_return(&next) % ARRAY_SIZE(lines)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(lines[0]), fmt, args);
	va_end(args);
	*error = line;
	return -EINVAL;
}

/* A count of words that must not exceed those that follow. */
static int shift_count(struct dm_arg_set *as, u64 *count)
{
	const char *word = dm_shift_arg(as);

	return tier_parse_u64(word, 0, as->argc, count);
}

static int parse_features(struct tier_target *tt, struct dm_arg_set *as, char **error)
{
	const char *word;
	unsigned int i;
	u64 nr;

	if (shift_count(as, &nr))
		return tier_reason(error,
			"Number of feature arguments is not a count of the words that follow");
	while (nr--) {
		word = dm_shift_arg(as);
		for (i = 0; i < TIER_NR_FEATURES; i++)
			if (!strcmp(word, tier_features[i]))
				break;
		if (i == TIER_NR_FEATURES)
			return tier_reason(error,
				"Unknown feature '%s': known are paused, no_discard_passdown, skip_zeroing, read_only",
					   word);
		if (tt->features[i])
			return tier_reason(error, "A feature is given twice");
		tt->features[i] = true;
	}
	return 0;
}

/* Keys and values: of the policy if there is one by now, or of the target and its tiers. */
static int parse_tunables(struct tier_target *tt, struct dm_arg_set *as, char **error)
{
	const char *policy = tt->policy ? tt->policy->name : NULL;
	struct tier_tunable_ref ref;
	u64 nr, value;

	if (shift_count(as, &nr) || nr & 1)
		return tier_reason(error,
			"Number of %s arguments is odd or no count of words that follow",
				   policy ? "policy" : "core");
	for (; nr; nr -= 2) {
		const char *key = dm_shift_arg(as), *word = dm_shift_arg(as);

		/* A key of the target is none of the policy. */
		if (tier_find_tunable(tt, key, &ref) || (policy && ref.policy_key < 0))
			return policy ?
			       tier_reason(error, "Policy %s has no key '%s'", policy, key) :
			       tier_reason(error, "Unknown core key '%s'", key);
		if (tier_parse_u64(word, ref.key->min, ref.key->max, &value))
			return tier_reason(error, "%s must be %llu to %llu, not '%s'", key,
					   ref.key->min, ref.key->max, word);
		if (ref.given->given)
			return tier_reason(error, "A key is given twice");
		*ref.given = (struct tier_override){ .given = true, .value = value };
	}
	return 0;
}

/* With a value that is stored, the lower one of the two counts. */
static int check_min(struct tier_target *tt, char **error)
{
	const struct tier_override *bandwidth = &tt->overrides.core[TIER_TUNABLE_BANDWIDTH];
	const struct tier_override *least = &tt->overrides.core[TIER_TUNABLE_MIGRATION_MIN];

	if (bandwidth->given && least->given && tier_min_too_large(least->value, bandwidth->value))
		return tier_reason(error,
				   "migration_min must be at most migration_bandwidth, %llu, not %llu",
				   bandwidth->value, least->value);
	return 0;
}

static int parse_policy(struct tier_target *tt, struct dm_arg_set *as, char **error)
{
	const char *policy = dm_shift_arg(as);
	struct tier_policy_type *type;

	if (!policy)
		return tier_reason(error, "Policy is missing: heat, static or default");
	type = tier_policy_get(policy);
	if (IS_ERR(type)) {
		tier_reason(error, PTR_ERR(type) == -ENOMEM ?
			    "Policy %s cannot be loaded, out of memory" :
			    "Unknown policy '%s': known are heat, static, default", policy);
		return PTR_ERR(type);
	}
	tt->policy = type;
	return 0;
}

/* what: "metadata device" or "tier". */
static int open_device(struct tier_target *tt, const char *what, const char *path,
		       struct dm_dev **dev, char **error)
{
	tier_open_mode_t mode = dm_table_get_mode(tt->ti->table);
	const char *why;
	int r;

	/* A read-only activation must not be able to write by mistake. */
	if (tt->features[TIER_FEATURE_READ_ONLY])
		mode &= ~TIER_OPEN_WRITE;
	if (dm_get_device(tt->ti, path, mode, dev)) {
		*dev = NULL;
		tier_reason(error, "Cannot open %s '%s'", what, path);
		return -ENODEV;
	}
	r = tier_device_unfit(tt, (*dev)->bdev, &why);
	if (r)
		tier_reason(error, "The %s %s %s", what, path, why);
	return r;
}

static int open_devices(struct tier_target *tt, const char *metadata, char **paths, char **error)
{
	unsigned int i, j;
	int r;

	r = open_device(tt, "metadata device", metadata, &tt->metadata, error);
	for (i = 0; !r && i < tt->nr_tiers; i++) {
		if (!strcmp(paths[i], "-"))
			continue;
		r = open_device(tt, "tier", paths[i], &tt->devs[i], error);
		if (r)
			break;
		if (tt->devs[i]->bdev->bd_dev == tt->metadata->bdev->bd_dev)
			return tier_reason(error, "The metadata device is listed as a tier");
		for (j = 0; j < i; j++)
			if (tt->devs[j] && tt->devs[i]->bdev->bd_dev == tt->devs[j]->bdev->bd_dev)
				return tier_reason(error, "A tier device is listed twice");
	}
	return r;
}

static char *join(unsigned int argc, char **argv)
{
	size_t size = 1;
	unsigned int i;
	char *s, *p;

	for (i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	s = kvmalloc(size, GFP_KERNEL);
	if (!s)
		return NULL;
	for (p = s, i = 0; i < argc; i++)
		p += sprintf(p, "%s%s", i ? " " : "", argv[i]);
	return s;
}

int tier_table_parse(struct tier_target *tt, unsigned int argc, char **argv, char **error)
{
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	const char *metadata, *word;
	unsigned int i;
	char **paths;
	u64 value;
	int r;

	tt->args = join(argc, argv);
	if (!tt->args) {
		*error = "Out of memory";
		return -ENOMEM;
	}
	metadata = dm_shift_arg(&as);
	if (!metadata)
		return tier_reason(error, "No arguments: the metadata device comes first");
	if (tier_parse_u64(dm_shift_arg(&as), TIER_CHUNK_SECTORS_MIN, TIER_CHUNK_SECTORS_MAX,
			   &tt->chunk_sectors) || !is_power_of_2(tt->chunk_sectors))
		return tier_reason(error,
			"Chunk size must be a power of two from 128 to 2097152 sectors");
	if (tier_parse_u64(dm_shift_arg(&as), 1, TIER_MAX_TIERS, &value))
		return tier_reason(error, "Number of tiers must be 1 to 16");
	tt->nr_tiers = value;
	if (as.argc < tt->nr_tiers)
		return tier_reason(error, "Fewer tier devices than the number of tiers");
	paths = as.argv;
	for (i = 0; i < tt->nr_tiers; i++) {
		word = dm_shift_arg(&as);
		if (strcmp(word, "-") && !strpbrk(word, "/:"))
			return tier_reason(error,
				"'%s' is no tier device; is the number of tiers right?", word);
	}

	r = parse_features(tt, &as, error) ? : parse_tunables(tt, &as, error) ? :
	    check_min(tt, error) ? : parse_policy(tt, &as, error) ? :
	    parse_tunables(tt, &as, error);
	if (r)
		return r;
	if (as.argc)
		return tier_reason(error, "Words follow the policy arguments");
	return open_devices(tt, metadata, paths, error);
}
