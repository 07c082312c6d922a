// SPDX-License-Identifier: GPL-2.0-only
/* Messages: record the intent, commit, return. */
#include "message.h"

#include <linux/mm.h>

#include "commit.h"
#include "flush.h"
#include "health.h"
#include "kick.h"
#include "metadata/metadata.h"
#include "missed.h"
#include "budget.h"
#include "policy.h"
#include "request.h"
#include "set.h"

#define MAX_BUCKETS 4096

struct call {
	struct tier_set *set;
	unsigned int argc;
	char **argv;		/* argv[0] is the message */
	char *result;
	unsigned int maxlen;
};

static int refuse(struct call *c, const char *what)
{
	DMERR("%s: message %s: %s", dm_device_name(c->set->md), c->argv[0], what);
	return -EINVAL;
}

static int refuse_word(struct call *c, const char *word, const char *what)
{
	DMERR("%s: message %s: '%s' %s", dm_device_name(c->set->md), c->argv[0], word, what);
	return -EINVAL;
}

static int refuse_value(struct call *c, const char *key, u64 min, u64 max, const char *word)
{
	DMERR("%s: message %s: %s must be %llu to %llu, not '%s'", dm_device_name(c->set->md),
	      c->argv[0], key, min, max, word);
	return -EINVAL;
}

static int parse_range(struct call *c, u32 *first, u32 *nr)
{
	u64 a, n;

	if (tier_parse_u64(c->argv[1], U32_MAX, &a) || a >= c->set->nr_chunks)
		return refuse_word(c, c->argv[1], "is not a chunk of the set");
	if (tier_parse_u64(c->argv[2], U32_MAX, &n) || !n || n > c->set->nr_chunks - a)
		return refuse_word(c, c->argv[2],
				   "is not a number of chunks from there to the end of the set");
	*first = a;
	*nr = n;
	return 0;
}

static int parse_rank(struct call *c, const char *word, struct tier **t)
{
	u64 rank;

	if (tier_parse_u64(word, TIER_MAX_TIERS, &rank) || rank >= c->set->nr_tiers)
		return refuse_word(c, word, "is not the rank of a tier");
	*t = c->set->tiers[rank];
	return 0;
}

/* Commits a change of the metadata; settles a change that failed half-way. */
static int commit_change(struct tier_set *set, int r)
{
	return r ? tier_settle_error(set, r) : tier_commit_now(set);
}

static int write_record(struct tier_set *set, const struct tier_meta_tier *rec)
{
	int r;

	mutex_lock(&set->commit);
	r = tier_set_frozen(set) ? -EROFS : tier_metadata_set_tier(set->metadata, rec);
	r = commit_change(set, r);
	mutex_unlock(&set->commit);
	return r;
}

static int set_pause(struct call *c, bool paused)
{
	struct tier_set *set = c->set;
	struct tier_meta_info info;
	int r = 0;

	mutex_lock(&set->commit);
	tier_metadata_get_info(set->metadata, &info);
	if (!(info.flags & TIER_SB_PAUSED) != !paused) {
		info.flags ^= TIER_SB_PAUSED;
		tier_metadata_set_info(set->metadata, &info);
		r = tier_commit_now(set);
		/* If refused, the flag is taken back, or the next commit would write it. */
		info.flags ^= TIER_SB_PAUSED;
		if (r)
			tier_metadata_set_info(set->metadata, &info);
	}
	mutex_unlock(&set->commit);
	if (r)
		return r;
	WRITE_ONCE(set->paused, paused);
	if (!paused)
		WRITE_ONCE(set->table_paused, false);
	tier_kick_mover(set);
	return 0;
}

static int do_pause(struct call *c)
{
	return set_pause(c, true);
}

static int do_resume(struct call *c)
{
	return set_pause(c, false);
}

static int set_policy_key(struct call *c, const char *key, const char *word)
{
	struct tier_set *set = c->set;
	const struct tier_policy_type *type = set->bound->policy;
	const struct tier_policy_key *k;
	unsigned int i;
	u64 value;
	int r;

	for (i = 0; i < tier_policy_nr_keys(type); i++)
		if (!strcmp(key, type->keys[i].name))
			break;
	if (i == tier_policy_nr_keys(type))
		return refuse_word(c, key, "is not a tunable of the target, a tier or the policy");
	k = &type->keys[i];
	if (tier_parse_u64(word, k->max, &value) || value < k->min)
		return refuse_value(c, key, k->min, k->max, word);

	mutex_lock(&set->commit);
	r = tier_set_frozen(set) ? -EROFS : tier_metadata_set_tunable(set->metadata, key, value);
	r = commit_change(set, r);
	mutex_unlock(&set->commit);
	if (r)
		return r;
	WRITE_ONCE(set->policy_tunables[i], value);
	WRITE_ONCE(set->bound->overrides.policy[i].given, false);
	tier_policy_set(set, i, value);
	return 0;
}

/* Returns the old value. */
static u64 exchange_tier_value(struct tier_meta_tier *rec, int i, u64 value)
{
	u64 old;

	switch (i) {
	case TIER_TIER_ENDURANCE:
		old = rec->endurance;
		WRITE_ONCE(rec->endurance, value);
		break;
	case TIER_TIER_RESERVE:
		old = rec->reserve;
		WRITE_ONCE(rec->reserve, value);
		break;
	default:
		old = rec->landing;
		WRITE_ONCE(rec->landing, value);
		break;
	}
	return old;
}

static int set_tier_key(struct call *c, unsigned int rank, int i, u64 value)
{
	struct tier *t = c->set->tiers[rank];
	u64 old;
	int r;

	if (!tier_present(t))
		return refuse(c, "the tier is missing, and nothing of it changes while it is away");
	old = exchange_tier_value(&t->rec, i, value);
	r = write_record(c->set, &t->rec);
	if (r) {
		exchange_tier_value(&t->rec, i, old);
		return r;
	}
	WRITE_ONCE(c->set->bound->overrides.tier[rank][i].given, false);
	if (i == TIER_TIER_ENDURANCE)
		tier_wear_restart(c->set, t);
	return 0;
}

static int do_set(struct call *c)
{
	struct tier_set *set = c->set;
	const char *key = c->argv[1], *word = c->argv[2];
	const struct tier_key *k;
	int i, rank, r;
	u64 value;

	i = tier_parse_key(key, &rank);
	if (i < 0)
		return set_policy_key(c, key, word);
	if (rank >= (int)set->nr_tiers)
		return refuse_word(c, key, "names a tier that the set does not have");
	k = rank < 0 ? &tier_keys[i] : &tier_tier_keys[i];
	if (tier_parse_u64(word, k->max, &value) || value < k->min)
		return refuse_value(c, key, k->min, k->max, word);
	if (rank >= 0) {
		r = set_tier_key(c, rank, i, value);
	} else {
		mutex_lock(&set->commit);
		r = tier_set_frozen(set) ? -EROFS :
		    tier_metadata_set_tunable(set->metadata, key, value);
		r = commit_change(set, r);
		mutex_unlock(&set->commit);
		if (!r) {
			WRITE_ONCE(set->tunables[i], value);
			WRITE_ONCE(set->bound->overrides.core[i].given, false);
		}
	}
	tier_kick_mover(set);
	return r;
}

static int do_migrate(struct call *c)
{
	enum tier_reason reason = TIER_REASON_MIGRATE;
	struct tier *to;
	u32 first, nr;
	int r;

	r = parse_range(c, &first, &nr) ? : parse_rank(c, c->argv[3], &to);
	if (r)
		return r;
	if (c->argc == 5) {
		if (strcmp(c->argv[4], "home"))
			return refuse_word(c, c->argv[4],
				"is unknown; only 'home' may follow the rank");
		if (first < to->rec.first_place ||
		    (u64)first + nr > to->rec.first_place + to->rec.places)
			return refuse(c, "the tier has no places of these numbers");
		reason = TIER_REASON_HOME;
	}
	if (!tier_open(to))
		return refuse(c,
			"the tier is missing, evacuated or failing, so nothing is placed on it");
	if (tier_set_frozen(c->set))
		return -EROFS;
	return tier_request_migration(c->set, first, nr, to, reason);
}

/* Takes the pin of a chunk from the metadata again, after a failed commit. */
static int restore_pin(void *context, u32 chunk, u64 entry)
{
	struct tier_set *set = context;
	unsigned int pin = tier_word_pin(entry);
	u64 word;

	if (chunk >= set->nr_chunks)
		return 0;
	if (pin && !set->by_id[pin - 1])
		pin = 0;
	spin_lock_irq(&set->lock);
	word = set->map[chunk];
	if (tier_word_pin(word) != pin) {
		atomic64_add(!!pin - !!tier_word_pin(word), &set->pinned);
		WRITE_ONCE(set->map[chunk], (word & ~TIER_WORD_PIN_MASK) | tier_pin_bits(pin));
	}
	spin_unlock_irq(&set->lock);
	return 0;
}

/* As many pins as the metadata has room for in one go; set->commit held. */
static int change_pin_batch(struct tier_set *set, u32 first, u32 nr, unsigned int pin)
{
	u32 i;
	int r;

	if (!tier_metadata_has_room(set->metadata, nr)) {
		r = tier_commit_now(set);
		if (r)
			return r;
		if (!tier_metadata_has_room(set->metadata, nr))
			return -ENOSPC;
	}
	for (i = first; i - first < nr; i++) {
		if (tier_word_pin(tier_get_word(set, i)) == pin)
			continue;
		/* Only the pin: the place in core may not be committed yet. */
		r = tier_metadata_set_pin(set->metadata, i, pin);
		if (r)
			return r;
		spin_lock_irq(&set->lock);
		atomic64_add(!!pin - !!tier_word_pin(set->map[i]), &set->pinned);
		WRITE_ONCE(set->map[i], (set->map[i] & ~TIER_WORD_PIN_MASK) | tier_pin_bits(pin));
		spin_unlock_irq(&set->lock);
	}
	return 0;
}

/* pin: tier id + 1, or 0 to take pins off. */
static int change_pins(struct tier_set *set, u32 first, u32 nr, unsigned int pin)
{
	u32 done = 0, batch;
	int r = 0;

	while (!r && done < nr) {
		batch = min_t(u32, nr - done, TIER_SMALL_BATCH);
		/* Between batches other commits get their turn. */
		mutex_lock(&set->commit);
		r = tier_set_frozen(set) ? -EROFS :
		    change_pin_batch(set, first + done, batch, pin);
		done += batch;
		if (r || done == nr)
			r = commit_change(set, r);
		/* If the first batch was refused, nothing has changed. */
		if (r && (r != -EROFS || done > batch) && set->needs_check)
			tier_metadata_load_map(set->metadata, restore_pin, set);
		mutex_unlock(&set->commit);
		cond_resched();
	}
	return r;
}

static int do_pin(struct call *c)
{
	struct tier *t;
	u32 first, nr;
	int r;

	r = parse_range(c, &first, &nr) ? : parse_rank(c, c->argv[3], &t);
	if (r)
		return r;
	if (!tier_present(t))
		return refuse(c, "the tier is missing");
	r = change_pins(c->set, first, nr, t->rec.id + 1);
	if (r)
		return r;
	tier_forget_all_missed(c->set);
	tier_mark_astray(c->set);
	tier_kick_mover(c->set);
	return 0;
}

static int do_unpin(struct call *c)
{
	u32 first, nr;
	int r;

	r = parse_range(c, &first, &nr) ? : change_pins(c->set, first, nr, 0);
	if (r)
		return r;
	/* Unpinned chunks may make room for others. */
	tier_mark_astray(c->set);
	tier_kick_mover(c->set);
	return 0;
}

static int do_evacuate(struct call *c)
{
	struct tier_set *set = c->set;
	struct tier *t;
	u64 room = 0;
	unsigned int i;
	int r;

	r = parse_rank(c, c->argv[1], &t);
	if (r)
		return r;
	if (!tier_present(t))
		return refuse(c, "the tier is missing; what lies on it cannot be moved");
	if (set->home) {
		DMERR("%s: evacuate: all goes to tier %u until revert off (tierctl revert --abort)",
		      dm_device_name(set->md), set->home->rec.rank);
		return -EBUSY;
	}
	if (t->rec.flags & TIER_RECORD_EVACUATE) {
		/* Chunks that could not be moved are tried once more. */
		tier_forget_all_missed(set);
		tier_mark_astray(set);
		tier_kick_mover(set);
		return 0;
	}
	for (i = 0; i < set->nr_tiers; i++)
		if (set->tiers[i] != t && tier_open(set->tiers[i]))
			room += set->tiers[i]->rec.places;
	if (room < set->nr_chunks + set->info.reserve) {
		DMERR("%s: evacuate: %llu places needed, %llu there; add %llu (%llu sectors)",
		      dm_device_name(set->md), set->nr_chunks + set->info.reserve, room,
		      set->nr_chunks + set->info.reserve - room,
		      (set->nr_chunks + set->info.reserve - room) << set->chunk_shift);
		return -ENOSPC;
	}
	WRITE_ONCE(t->rec.flags, t->rec.flags | TIER_RECORD_EVACUATE);
	r = write_record(set, &t->rec);
	if (r) {
		WRITE_ONCE(t->rec.flags, t->rec.flags & ~TIER_RECORD_EVACUATE);
		return r;
	}
	tier_drop_requests(set, t);
	WRITE_ONCE(t->evacuating, true);
	tier_forget_all_missed(set);
	tier_mark_astray(set);
	tier_kick_mover(set);
	return 0;
}

/* Not stored: after an activation tierctl sends the message again. */
static int do_revert(struct call *c)
{
	struct tier_set *set = c->set;
	struct tier *t = NULL;
	unsigned int i;
	int r;

	if (strcmp(c->argv[1], "off")) {
		r = parse_rank(c, c->argv[1], &t);
		if (r)
			return r;
		for (i = 0; i < set->nr_tiers; i++)
			if (!tier_present(set->tiers[i]))
				return refuse(c, "a tier is missing");
		if (!tier_open(t))
			return refuse(c,
				"the tier is evacuated or failing, so nothing is placed on it");
		if (tier_set_frozen(set))
			return -EROFS;
	}
	if (!t && set->home)
		tier_drop_requests(set, set->home);
	spin_lock_irq(&set->lock);
	WRITE_ONCE(set->home, t);
	spin_unlock_irq(&set->lock);
	tier_mark_astray(set);
	tier_kick_mover(set);
	return 0;
}

static int do_admit(struct call *c)
{
	struct tier_set *set = c->set;
	struct tier_meta_tier rec;
	struct tier *t;
	int r;

	r = parse_rank(c, c->argv[1], &t);
	if (r)
		return r;
	if (!tier_present(t))
		return refuse(c, "the tier is missing");
	if (tier_set_being_dropped(set, t)) {
		DMERR("%s: message admit: a loaded table drops this tier", dm_device_name(set->md));
		return -EBUSY;
	}
	if (t->rec.flags & TIER_RECORD_EVACUATE) {
		/* No chunk is placed there before the commit. */
		rec = t->rec;
		rec.flags &= ~TIER_RECORD_EVACUATE;
		r = write_record(set, &rec);
		if (r)
			return r;
		WRITE_ONCE(t->rec.flags, rec.flags);
	}
	WRITE_ONCE(t->evacuating, false);
	clear_bit(TIER_FLAG_WRITE_FAILED, &t->flags);
	clear_bit(TIER_FLAG_ERRORS, &t->flags);
	tier_forget_all_missed(set);
	tier_mark_astray(set);
	spin_lock_irq(&set->lock);
	__tier_wake_starved(set);
	spin_unlock_irq(&set->lock);
	tier_kick_mover(set);
	return 0;
}

/* ---- answers ---- */

static int do_heat(struct call *c)
{
	struct tier_set *set = c->set;
	char *result = c->result;
	unsigned int maxlen = c->maxlen, sz = 0;
	u32 first, nr, chunk;
	u64 buckets, b;
	int r;

	r = parse_range(c, &first, &nr);
	if (r)
		return r;
	if (tier_parse_u64(c->argv[3], MAX_BUCKETS, &buckets) || !buckets)
		return refuse_word(c, c->argv[3], "is not a number of buckets from 1 to 4096");
	buckets = min_t(u64, buckets, nr);
	chunk = first;
	for (b = 0; b < buckets; b++) {
		u32 end = first + div64_u64((b + 1) * nr, buckets);
		u32 start = chunk;
		u64 mapped = 0, reads = 0, writes = 0, heat = 0;
		u32 ranks[TIER_MAX_TIERS] = { 0 };
		unsigned int i;

		for (; chunk < end; chunk++) {
			u64 word = tier_get_word(set, chunk);
			u32 h = READ_ONCE(set->heat[chunk]), temperature;

			if (word & TIER_ENTRY_MAPPED) {
				mapped++;
				ranks[set->by_id[tier_word_id(word)]->rec.rank]++;
			}
			reads += TIER_HEAT_READS(h);
			writes += TIER_HEAT_WRITES(h);
			if (h && tier_policy_heat(set, chunk, &temperature))
				heat += temperature;
			if (!(chunk & 0xfff))
				cond_resched();
		}
		DMEMIT("%u %u %llu %llu %llu %llu", start, end - start, mapped,
		       reads, writes, heat);
		for (i = 0; i < set->nr_tiers; i++)
			DMEMIT(" %u", ranks[i]);
		DMEMIT("\n");
	}
	return 1;
}

static const char *const reasons[] = {
	[TIER_REASON_UNMAPPED] = "unmapped",
	[TIER_REASON_LOADED] = "loaded",
	[TIER_REASON_FIRST_WRITE] = "first_write",
	[TIER_REASON_POLICY] = "policy",
	[TIER_REASON_MIGRATE] = "migrate",
	[TIER_REASON_PIN] = "pin",
	[TIER_REASON_EVACUATE] = "evacuate",
	[TIER_REASON_HOME] = "home",
	[TIER_REASON_MAKE_ROOM] = "make_room",
};

static int do_chunk(struct call *c)
{
	struct tier_set *set = c->set;
	char *result = c->result;
	unsigned int maxlen = c->maxlen, sz = 0;
	const char *state, *missed, *reason;
	unsigned int pin;
	struct tier *t;
	u64 chunk, word;
	u32 heat, counters;

	if (tier_parse_u64(c->argv[1], U32_MAX, &chunk) || chunk >= set->nr_chunks)
		return refuse_word(c, c->argv[1], "is not a chunk of the set");
	tier_policy_heat(set, chunk, &heat);
	spin_lock_irq(&set->lock);
	word = set->map[chunk];
	missed = __tier_missed(set, chunk);
	spin_unlock_irq(&set->lock);

	reason = missed ? missed : reasons[word >> TIER_WORD_REASON_SHIFT];
	t = set->by_id[tier_word_id(word)];
	if (!(word & TIER_ENTRY_MAPPED)) {
		state = "unmapped";
		DMEMIT("rank - place -");
	} else {
		state = !tier_present(t) ? "missing" :
			word & (TIER_WORD_MOVING | TIER_WORD_HELD) ? "migrating" :
			word & TIER_WORD_NEW ? "new" : "mapped";
		DMEMIT("rank %u place %llu", t->rec.rank, tier_word_place(word));
	}
	counters = READ_ONCE(set->heat[chunk]);
	DMEMIT(" heat %u reads %u writes %u pin ", heat, TIER_HEAT_READS(counters),
	       TIER_HEAT_WRITES(counters));
	pin = tier_word_pin(word);
	if (pin && set->by_id[pin - 1])
		DMEMIT("%u", set->by_id[pin - 1]->rec.rank);
	else
		DMEMIT("-");
	DMEMIT(" state %s reason %s", state, reason);
	return 1;
}

static int do_reserve_snap(struct call *c)
{
	struct tier_set *set = c->set;
	int r;

	if (tier_set_frozen(set))
		return -EROFS;
	tier_commit_births(set);
	mutex_lock(&set->commit);
	/* If the heat cannot be read, nothing was changed. */
	r = tier_metadata_save_heat(set->metadata, set->heat);
	if (!r)
		r = tier_metadata_reserve_snap(set->metadata);
	r = tier_settle_error(set, r);
	if (!r)
		tier_watch_space(set);
	mutex_unlock(&set->commit);
	if (r == -EBUSY)
		DMERR("%s: message %s: there is a metadata snapshot already",
		      dm_device_name(set->md), c->argv[0]);
	return r;
}

static int do_release_snap(struct call *c)
{
	struct tier_set *set = c->set;
	int r;

	/* The blocks of a snapshot may be all the space that a full set lacks. */
	if (tier_set_frozen(set) && !tier_set_full(set))
		return -EROFS;
	mutex_lock(&set->commit);
	/* A damaged or unreadable snapshot stays as it is and does not harm the set. */
	r = tier_settle_error(set, tier_metadata_release_snap(set->metadata));
	mutex_unlock(&set->commit);
	if (!r && tier_set_full(set))
		tier_set_leave_full(set);
	return r == -EINVAL ? refuse(c, "there is no metadata snapshot") : r;
}

static const struct {
	const char *name;
	unsigned int min_args, max_args;	/* with the name */
	bool changes;
	int (*fn)(struct call *c);
} messages[] = {
	{ "pause", 1, 1, true, do_pause },
	{ "resume", 1, 1, true, do_resume },
	{ "set", 3, 3, true, do_set },
	{ "migrate", 4, 5, true, do_migrate },
	{ "pin", 4, 4, true, do_pin },
	{ "unpin", 3, 3, true, do_unpin },
	{ "evacuate", 2, 2, true, do_evacuate },
	{ "admit", 2, 2, true, do_admit },
	{ "revert", 2, 2, true, do_revert },
	{ "heat", 4, 4, false, do_heat },
	{ "chunk", 2, 2, false, do_chunk },
	{ "reserve_metadata_snap", 1, 1, true, do_reserve_snap },
	{ "release_metadata_snap", 1, 1, true, do_release_snap },
};

int tier_message(struct dm_target *ti, unsigned int argc, char **argv,
		 char *result, unsigned int maxlen)
{
	struct tier_target *tt = ti->private;
	struct call c = {
		.set = tt->set, .argc = argc, .argv = argv,
		.result = result, .maxlen = maxlen,
	};
	unsigned int i;
	int r;

	for (i = 0; i < ARRAY_SIZE(messages); i++)
		if (!strcmp(argv[0], messages[i].name))
			break;
	if (i == ARRAY_SIZE(messages))
		return refuse(&c, "is unknown");
	if (argc < messages[i].min_args || argc > messages[i].max_args)
		return refuse(&c, "wrong number of arguments");

	mutex_lock(&tt->set->config);
	if (!tt->set->active || READ_ONCE(tt->set->mode) == TIER_MODE_FAIL)
		r = -EIO;
	else if (messages[i].changes && !READ_ONCE(tt->set->resumed))
		r = -EBUSY;
	else
		r = messages[i].fn(&c);
	mutex_unlock(&tt->set->config);
	if (r == -EROFS)
		DMERR("%s: message %s: the set is read-only", dm_device_name(tt->set->md), argv[0]);
	return r;
}
