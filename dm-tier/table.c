// SPDX-License-Identifier: GPL-2.0-only
/* The words of a table line, checked one by one. */
#include "table.h"

#include <linux/slab.h>

#include "plan.h"
#include "policy.h"

/*
 * ti->error is read after the constructor has freed its memory, so composed lines are kept
 * here.  There are several, as constructors run side by side.
 */
void tier_reason(char **error, const char *fmt, ...)
{
	static char lines[8][200];
	static atomic_t next;
	char *line = lines[(unsigned int)atomic_inc_return(&next) % ARRAY_SIZE(lines)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(lines[0]), fmt, args);
	va_end(args);
	*error = line;
}

struct words {
	unsigned int left;
	char **next;
};

static const char *shift(struct words *w)
{
	if (!w->left)
		return NULL;
	w->left--;
	return *w->next++;
}

/* A count of words that must not exceed those that follow. */
static int shift_count(struct words *w, unsigned int *count)
{
	const char *word = shift(w);
	u64 value;

	if (!word || tier_parse_u64(word, U32_MAX, &value) || value > w->left)
		return -EINVAL;
	*count = value;
	return 0;
}

static int parse_features(struct tier_target *tt, struct words *w, char **error)
{
	const struct {
		const char *name;
		bool *flag;
	} features[] = {
		{ "paused", &tt->paused },
		{ "no_discard_passdown", &tt->no_discard_passdown },
		{ "skip_zeroing", &tt->skip_zeroing },
		{ "read_only", &tt->read_only },
	};
	unsigned int nr, i;
	const char *word;

	if (shift_count(w, &nr)) {
		*error =
			"Number of feature arguments is not a count of the words that follow";
		return -EINVAL;
	}
	while (nr--) {
		word = shift(w);
		for (i = 0; i < ARRAY_SIZE(features); i++)
			if (!strcmp(word, features[i].name))
				break;
		if (i == ARRAY_SIZE(features)) {
			tier_reason(error,
				    "Unknown feature '%s': known are paused, no_discard_passdown, skip_zeroing, read_only",
				    word);
			return -EINVAL;
		}
		if (*features[i].flag) {
			*error = "A feature is given twice";
			return -EINVAL;
		}
		*features[i].flag = true;
	}
	return 0;
}

static int give(struct tier_override *o, u64 value, char **error)
{
	if (o->given) {
		*error = "A key is given twice";
		return -EINVAL;
	}
	o->given = true;
	o->value = value;
	return 0;
}

static int parse_core(struct tier_target *tt, struct words *w, char **error)
{
	unsigned int nr;

	if (shift_count(w, &nr) || nr & 1) {
		*error =
			"Number of core arguments is odd or no count of words that follow";
		return -EINVAL;
	}
	for (; nr; nr -= 2) {
		const char *key = shift(w), *word = shift(w);
		const struct tier_key *k;
		struct tier_override *o;
		int i, rank;
		u64 value;

		i = tier_parse_key(key, &rank);
		if (i < 0 || rank >= (int)tt->nr_tiers) {
			tier_reason(error, "Unknown core key '%s'", key);
			return -EINVAL;
		}
		k = rank < 0 ? &tier_keys[i] : &tier_tier_keys[i];
		o = rank < 0 ? &tt->overrides.core[i] : &tt->overrides.tier[rank][i];
		if (tier_parse_u64(word, k->max, &value) || value < k->min) {
			tier_reason(error, "%s must be %llu to %llu, not '%s'", key, k->min,
				    k->max, word);
			return -EINVAL;
		}
		if (give(o, value, error))
			return -EINVAL;
	}
	return 0;
}

static int parse_policy(struct tier_target *tt, struct words *w, char **error)
{
	struct tier_policy_type *type;
	const char *policy = shift(w);
	unsigned int nr, i;

	if (!policy) {
		*error = "Policy is missing: heat, static or default";
		return -EINVAL;
	}
	type = tier_policy_get(policy);
	if (IS_ERR(type)) {
		tier_reason(error, PTR_ERR(type) == -ENOMEM ?
			    "Policy %s cannot be loaded, out of memory" :
			    "Unknown policy '%s': known are heat, static, default", policy);
		return PTR_ERR(type);
	}
	tt->policy = type;
	if (shift_count(w, &nr) || nr & 1) {
		*error =
			"Number of policy arguments is odd or no count of words that follow";
		return -EINVAL;
	}
	for (; nr; nr -= 2) {
		const char *key = shift(w), *word = shift(w);
		const struct tier_policy_key *k;
		u64 value;

		for (i = 0; i < tier_policy_nr_keys(tt->policy); i++)
			if (!strcmp(key, tt->policy->keys[i].name))
				break;
		if (i == tier_policy_nr_keys(tt->policy)) {
			tier_reason(error, "Policy %s has no key '%s'", tt->policy->name, key);
			return -EINVAL;
		}
		k = &tt->policy->keys[i];
		if (tier_parse_u64(word, k->max, &value) || value < k->min) {
			tier_reason(error, "%s must be %llu to %llu, not '%s'", key, k->min,
				    k->max, word);
			return -EINVAL;
		}
		if (give(&tt->overrides.policy[i], value, error))
			return -EINVAL;
	}
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
	if (tt->read_only)
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
		if (tt->devs[i]->bdev->bd_dev == tt->metadata->bdev->bd_dev) {
			*error = "The metadata device is listed as a tier";
			return -EINVAL;
		}
		for (j = 0; j < i; j++) {
			if (tt->devs[j] && tt->devs[i]->bdev->bd_dev == tt->devs[j]->bdev->bd_dev) {
				*error = "A tier device is listed twice";
				return -EINVAL;
			}
		}
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
	struct words w = { .left = argc, .next = argv };
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
	metadata = shift(&w);
	if (!metadata) {
		*error = "No arguments: the metadata device comes first";
		return -EINVAL;
	}
	word = shift(&w);
	if (!word || tier_parse_u64(word, TIER_CHUNK_SECTORS_MAX, &value) ||
	    value < TIER_CHUNK_SECTORS_MIN || value & (value - 1)) {
		*error = "Chunk size must be a power of two from 128 to 2097152 sectors";
		return -EINVAL;
	}
	tt->chunk_sectors = value;
	word = shift(&w);
	if (!word || tier_parse_u64(word, TIER_MAX_TIERS, &value) || !value) {
		*error = "Number of tiers must be 1 to 16";
		return -EINVAL;
	}
	tt->nr_tiers = value;
	if (w.left < tt->nr_tiers) {
		*error = "Fewer tier devices than the number of tiers";
		return -EINVAL;
	}
	paths = w.next;
	for (i = 0; i < tt->nr_tiers; i++) {
		word = shift(&w);
		if (strcmp(word, "-") && !strpbrk(word, "/:")) {
			tier_reason(error, "'%s' is no tier device; is the number of tiers right?",
				    word);
			return -EINVAL;
		}
	}

	r = parse_features(tt, &w, error) ? : parse_core(tt, &w, error) ? :
	    parse_policy(tt, &w, error);
	if (r)
		return r;
	if (w.left) {
		*error = "Words follow the policy arguments";
		return -EINVAL;
	}
	return open_devices(tt, metadata, paths, error);
}
