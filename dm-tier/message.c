// SPDX-License-Identifier: GPL-2.0-only
/* Messages: record the intent, commit, return. */
#include "table.h"

#include <linux/timekeeping.h>

#include "birth.h"
#include "commit.h"
#include "gauge.h"
#include "health.h"
#include "kick.h"
#include "metadata/metadata.h"
#include "missed.h"
#include "mover.h"
#include "policy.h"
#include "request.h"
#include "saver.h"
#include "set.h"
#include "trace.h"
#include "wear.h"

#define MAX_BUCKETS 4096
#define HOLD		(HZ / 10)	/* so long a message holds set->config */

struct call {
	struct tier_set *set;
	const struct message *message;
	bool locked;		/* set->config is held */
	bool resumed;		/* the set was when the message came */
	unsigned int argc;
	char **argv;		/* argv[0] is the message */
	char *result;
	unsigned int maxlen;
	u32 first, nr;		/* chunks it is about, */
	struct tier *t;		/* and the tier, if the message has these words */
};

struct message {
	const char *name;
	unsigned int min_args, max_args;	/* with the name */
	bool chunks;				/* these come first */
	unsigned int rank;			/* which word is a tier's, 0 = none */
	bool changes;
	int (*fn)(struct call *c);
};

static __printf(2, 3) int refuse(struct call *c, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	DMERR("%s: message %s: %pV", dm_device_name(c->set->md), c->argv[0], &vaf);
	va_end(args);
	return -EINVAL;
}

static int parse_range(struct call *c)
{
	u64 first, nr = 1;

	if (tier_parse_u64(c->argv[1], 0, c->set->nr_chunks - 1, &first))
		return refuse(c, "'%s' is not a chunk of the set", c->argv[1]);
	if (c->argc > 2 && tier_parse_u64(c->argv[2], 1, c->set->nr_chunks - first, &nr))
		return refuse(c, "'%s' is not a number of chunks from there to the end of the set",
			      c->argv[2]);
	c->first = first;
	c->nr = nr;
	return 0;
}

static int parse_rank(struct call *c, const char *word)
{
	u64 rank;

	if (tier_parse_u64(word, 0, c->set->nr_tiers - 1, &rank))
		return refuse(c, "'%s' is not the rank of a tier", word);
	c->t = c->set->tiers[rank];
	return 0;
}

/*
 * Takes set->config.  A suspend waits for messages, with I/O held back: a long one that has
 * given way ends when the suspend begins.
 */
static int enter(struct call *c)
{
	int r = mutex_lock_killable(&c->set->config);
	struct tier_set *set = c->set;

	c->locked = !r;
	if (r)
		return r;
	if (!set->active || READ_ONCE(set->mode) == TIER_MODE_FAIL)
		return -EIO;
	if (!READ_ONCE(set->resumed) && (c->message->changes || c->resumed))
		return -EBUSY;
	c->resumed = READ_ONCE(set->resumed);
	return 0;
}

static int parse(struct call *c)
{
	return (c->message->chunks ? parse_range(c) : 0) ? :
	       (c->message->rank ? parse_rank(c, c->argv[c->message->rank]) : 0);
}

/*
 * Lets others have set->config.  An error ends the message.  What the caller knows of the set
 * may have changed.  An answer overwrites the words of its message.
 */
static int give_way(struct call *c)
{
	mutex_unlock(&c->set->config);
	c->locked = false;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : enter(c);
}

/* Chunks may move now that stayed where they were. */
static int look_again(struct tier_set *set)
{
	spin_lock_irq(&set->lock);
	__tier_mark_astray(set);
	spin_unlock_irq(&set->lock);
	tier_kick_mover(set);
	return 0;
}

static int look_at_all(struct tier_set *set)
{
	tier_forget_all_missed(set);
	return look_again(set);
}

/* Commits a change of the metadata; settles a change that failed half-way. */
static int commit_change(struct tier_set *set, int r)
{
	return r ? tier_settle_error(set, r) : tier_commit_now(set);
}

/* Commits the record of a tier or, if rec is NULL, a tunable of the set. */
static int __store(struct tier_set *set, const struct tier_meta_tier *rec,
		   const char *name, u64 value)
{
	int r = tier_set_frozen(set) ? -EROFS :
		rec ? tier_metadata_set_tier(set->metadata, rec) :
		      tier_metadata_set_tunable(set->metadata, name, value);

	lockdep_assert_held(&set->commit);
	return commit_change(set, r);
}

static int store(struct tier_set *set, const struct tier_meta_tier *rec,
		 const char *name, u64 value)
{
	int r;

	mutex_lock(&set->commit);
	r = __store(set, rec, name, value);
	mutex_unlock(&set->commit);
	return r;
}

/* The flags of a tier change with the commit: before that no chunk is placed by the new ones. */
static int store_flags(struct tier *t, u32 flags)
{
	struct tier_meta_tier rec;
	int r;

	mutex_lock(&t->set->commit);
	/* With the wear that was stored last. */
	rec = t->rec;
	rec.flags = flags;
	r = __store(t->set, &rec, NULL, 0);
	mutex_unlock(&t->set->commit);
	if (!r)
		WRITE_ONCE(t->rec.flags, flags);
	return r;
}

static int do_pause_or_resume(struct call *c)
{
	bool paused = !strcmp(c->argv[0], "pause");
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

/* migration_min and migration_bandwidth fit each other. */
static int check_min(struct call *c, const struct tier_key *key, u64 value)
{
	u64 bandwidth = tier_tunable(c->set, TIER_TUNABLE_BANDWIDTH);
	u64 least = tier_tunable(c->set, TIER_TUNABLE_MIGRATION_MIN);

	if (key == &tier_keys[TIER_TUNABLE_BANDWIDTH] && tier_min_too_large(least, value))
		return refuse(c,
			      "migration_bandwidth must be 0 or at least migration_min, %llu, not %llu",
			      least, value);
	if (key == &tier_keys[TIER_TUNABLE_MIGRATION_MIN] && tier_min_too_large(value, bandwidth))
		return refuse(c,
			      "migration_min must be at most migration_bandwidth, %llu, not %llu",
			      bandwidth, value);
	return 0;
}

static int do_set(struct call *c)
{
	struct tier_set *set = c->set;
	struct tier_tunable_ref ref;
	struct tier *t = NULL;
	u64 value, old;
	int r;

	r = tier_find_tunable(set->bound, c->argv[1], &ref);
	if (r)
		return refuse(c, r == -ENODEV ? "'%s' names a tier that the set does not have" :
			      "'%s' is not a tunable of the target, a tier or the policy",
			      c->argv[1]);
	if (tier_parse_u64(c->argv[2], ref.key->min, ref.key->max, &value))
		return refuse(c, "%s must be %llu to %llu, not '%s'", c->argv[1], ref.key->min,
			      ref.key->max, c->argv[2]);
	r = check_min(c, ref.key, value);
	if (r)
		return r;
	old = *ref.stored;
	if (ref.rank >= 0) {
		t = set->tiers[ref.rank];
		if (!tier_present(t))
			return refuse(c,
				"the tier is missing, and nothing of it changes while it is away");
		WRITE_ONCE(*ref.stored, value);
	}
	r = store(set, t ? &t->rec : NULL, c->argv[1], value);
	WRITE_ONCE(*ref.stored, r ? old : value);
	if (r)
		return r;
	WRITE_ONCE(ref.given->given, false);
	if (ref.policy_key >= 0)
		tier_policy_set(set, ref.policy_key, value);
	if (t && ref.key == &tier_tier_keys[TIER_TIER_ENDURANCE])
		tier_wear_restart(set, t);
	tier_kick_mover(set);
	return 0;
}

static int do_migrate(struct call *c)
{
	bool home = c->argc == 5;
	struct tier *to = c->t;

	if (home && strcmp(c->argv[4], "home"))
		return refuse(c, "'%s' is unknown; only 'home' may follow the rank", c->argv[4]);
	if (home && (c->first < to->rec.first_place ||
		     (u64)c->first + c->nr > to->rec.first_place + to->rec.places))
		return refuse(c, "the tier has no places of these numbers");
	if (!tier_open(to))
		return refuse(c,
			"the tier is missing, evacuated or failing, so nothing is placed on it");
	if (tier_set_frozen(c->set))
		return -EROFS;
	return tier_request_migration(c->set, c->first, c->nr, to,
				      home ? TIER_REASON_HOME : TIER_REASON_MIGRATE);
}

static void change_pin(struct tier_set *set, u32 chunk, unsigned int pin)
{
	spin_lock_irq(&set->lock);
	atomic64_add(!!pin - !!tier_word_pin(set->map[chunk]), &set->pinned);
	__tier_change_word(set, chunk, TIER_WORD_PIN_MASK, tier_pin_bits(pin));
	__tier_note_astray(set, chunk);
	spin_unlock_irq(&set->lock);
}

/* Takes the pins of chunks from the metadata again, after a failed commit. */
static int restore_pins(void *context, u32 first, u32 nr, const __le64 *entries)
{
	struct tier_set *set = context;
	u32 i, chunk;

	for (i = 0, chunk = first; i < nr && chunk < set->nr_chunks; i++, chunk++) {
		unsigned int pin = tier_word_pin(le64_to_cpu(entries[i]));

		change_pin(set, chunk, pin && set->by_id[pin - 1] ? pin : 0);
	}
	return 0;
}

/* pin: tier id + 1, or 0 to take pins off. */
static int change_pins(struct call *c, unsigned int pin)
{
	u32 first = c->first, i = first, end = first + c->nr, stop;
	unsigned long until = jiffies + HOLD;
	struct tier_set *set = c->set;
	bool late;
	int r = 0;

	while (!r && i < end) {
		stop = i + min_t(u32, end - i, TIER_SMALL_BATCH);
		/* Between batches other commits get their turn. */
		mutex_lock(&set->commit);
		if (tier_set_frozen(set) || !tier_metadata_has_room(set->metadata, stop - i))
			r = tier_commit_now(set);
		if (!r && !tier_metadata_has_room(set->metadata, stop - i))
			r = -ENOSPC;
		for (; !r && i < stop; i++) {
			if (tier_word_pin(tier_get_word(set, i)) == pin)
				continue;
			/* Only the pin: the place in core may not be committed yet. */
			r = tier_metadata_set_pin(set->metadata, i, pin);
			if (r)
				break;
			change_pin(set, i, pin);
		}
		late = time_after(jiffies, until);
		if (r || late || i == end)
			r = commit_change(set, r);
		/* If the first batch was refused, nothing has changed. */
		if (r && (r != -EROFS || i > first) && set->needs_check)
			tier_metadata_load_map(set->metadata, restore_pins, set);
		mutex_unlock(&set->commit);
		cond_resched();
		if (!r && late && i < end) {
			r = give_way(c) ? : parse(c);
			if (!r && pin && c->t->rec.id + 1 != pin)
				r = -EBUSY;
			until = jiffies + HOLD;
		}
	}
	return r;
}

static int do_pin(struct call *c)
{
	int r;

	if (!tier_present(c->t))
		return refuse(c, "the tier is missing");
	r = change_pins(c, c->t->rec.id + 1);
	/* Also if only a part was changed. */
	look_at_all(c->set);
	return r;
}

static int do_unpin(struct call *c)
{
	int r = change_pins(c, 0);

	/* Unpinned chunks may make room for others. */
	look_again(c->set);
	return r;
}

static int do_evacuate(struct call *c)
{
	u64 needed = c->set->nr_chunks + c->set->info.reserve, room = 0;
	struct tier_set *set = c->set;
	struct tier *t = c->t;
	unsigned int i;
	int r;

	if (!tier_present(t))
		return refuse(c, "the tier is missing; what lies on it cannot be moved");
	if (set->home) {
		DMERR("%s: evacuate: all goes to tier %u until revert off (tierctl revert --abort)",
		      dm_device_name(set->md), set->home->rec.rank);
		return -EBUSY;
	}
	/* Again: chunks that could not be moved are tried once more. */
	if (t->rec.flags & TIER_RECORD_EVACUATE)
		return look_at_all(set);
	for (i = 0; i < set->nr_tiers; i++)
		if (set->tiers[i] != t && tier_open(set->tiers[i]))
			room += set->tiers[i]->rec.places;
	if (room < needed) {
		DMERR("%s: evacuate: %llu places needed, %llu there; add %llu (%llu sectors)",
		      dm_device_name(set->md), needed, room, needed - room,
		      (needed - room) << set->chunk_shift);
		return -ENOSPC;
	}
	r = store_flags(t, t->rec.flags | TIER_RECORD_EVACUATE);
	if (r)
		return r;
	tier_drop_requests(set, t);
	spin_lock_irq(&set->lock);
	bitmap_fill(set->astray_groups, TIER_GROUPS);
	spin_unlock_irq(&set->lock);
	WRITE_ONCE(t->evacuating, true);
	return look_at_all(set);
}

/* Not stored: after an activation tierctl sends the message again. */
static int do_revert(struct call *c)
{
	bool off = !strcmp(c->argv[1], "off");
	struct tier_set *set = c->set;
	unsigned int i;

	if (!off) {
		if (parse_rank(c, c->argv[1]))
			return -EINVAL;
		for (i = 0; i < set->nr_tiers; i++)
			if (!tier_present(set->tiers[i]))
				return refuse(c, "a tier is missing");
		if (!tier_open(c->t))
			return refuse(c,
				"the tier is evacuated or failing, so nothing is placed on it");
		if (tier_set_frozen(set))
			return -EROFS;
	} else if (set->home) {
		tier_drop_requests(set, set->home);
	}
	spin_lock_irq(&set->lock);
	WRITE_ONCE(set->home, c->t);
	spin_unlock_irq(&set->lock);
	return look_again(set);
}

static int do_admit(struct call *c)
{
	struct tier_set *set = c->set;
	struct tier *t = c->t;
	int r;

	if (!tier_present(t))
		return refuse(c, "the tier is missing");
	if (tier_set_being_dropped(set, t)) {
		refuse(c, "a loaded table drops this tier");
		return -EBUSY;
	}
	if (t->rec.flags & TIER_RECORD_EVACUATE) {
		r = store_flags(t, t->rec.flags & ~TIER_RECORD_EVACUATE);
		if (r)
			return r;
	}
	WRITE_ONCE(t->evacuating, false);
	clear_bit(TIER_FLAG_WRITE_FAILED, &t->flags);
	clear_bit(TIER_FLAG_ERRORS, &t->flags);
	spin_lock_irq(&set->lock);
	__tier_wake_starved(set);
	spin_unlock_irq(&set->lock);
	return look_at_all(set);
}

/* ---- answers ---- */

static int do_heat(struct call *c)
{
	struct tier_set *set = c->set;
	char *result = c->result;
	unsigned int maxlen = c->maxlen, sz = 0;
	u32 first = c->first, nr = c->nr, chunk = first;
	u64 buckets, b;
	int r;

	if (tier_parse_u64(c->argv[3], 1, MAX_BUCKETS, &buckets))
		return refuse(c, "'%s' is not a number of buckets from 1 to 4096", c->argv[3]);
	buckets = min_t(u64, buckets, nr);
	for (b = 0; b < buckets; b++) {
		u32 end = first + div64_u64((b + 1) * nr, buckets);
		u32 start = chunk;
		u64 mapped = 0, reads = 0, writes = 0, heat = 0;
		u32 ranks[TIER_MAX_TIERS] = { 0 };
		unsigned int i;

		for (; chunk < end; chunk++) {
			u64 word = tier_get_word(set, chunk);
			u32 h = READ_ONCE(set->heat[chunk]);

			if (word & TIER_ENTRY_MAPPED) {
				mapped++;
				ranks[set->by_id[tier_word_id(word)]->rec.rank]++;
			}
			reads += TIER_HEAT_READS(h);
			writes += TIER_HEAT_WRITES(h);
			heat += h ? tier_policy_heat(set, chunk) : 0;
			if (!(chunk & 0xfff)) {
				r = give_way(c);
				if (!r && (u64)first + nr > set->nr_chunks)
					r = -EBUSY;
				if (r)
					return r;
			}
		}
		DMEMIT("%u %u %llu %llu %llu %llu", start, end - start, mapped,
		       reads, writes, heat);
		for (i = 0; i < set->nr_tiers; i++)
			DMEMIT(" %u", ranks[i]);
		DMEMIT("\n");
	}
	return 1;
}

/* In the order of the enum. */
static const struct trace_print_flags reasons[] = { TIER_REASON_NAMES };

static const char *const holds[TIER_NR_HOLDS] = {
	[TIER_HOLD_NOTHING] = "nothing",
	[TIER_HOLD_NOTHING_FASTER] = "nothing_faster",
	[TIER_HOLD_COLD] = "cold",
	[TIER_HOLD_PRICE] = "price",
	[TIER_HOLD_BUDGET] = "budget",
	[TIER_HOLD_ENDURANCE] = "endurance",
	[TIER_HOLD_GUARD] = "guard",
	[TIER_HOLD_LOAD] = "load",
	[TIER_HOLD_RESIDENCE] = "residence",
	[TIER_HOLD_PINNED] = "pinned",
	[TIER_HOLD_PAUSED] = "paused",
	[TIER_HOLD_FULL] = "full",
	[TIER_HOLD_QUIET] = "quiet",
	[TIER_HOLD_DEPTH] = "depth",
	[TIER_HOLD_UNREAD] = "unread",
	[TIER_HOLD_BUSY] = "busy",
	[TIER_HOLD_REQUESTED] = "requested",
	[TIER_HOLD_STATIC] = "static",
	[TIER_HOLD_READ_ONLY] = "read_only",
	[TIER_HOLD_UNMAPPED] = "unmapped",
	[TIER_HOLD_MISSING] = "missing",
};

static int do_chunk(struct call *c)
{
	struct tier_set *set = c->set;
	char *result = c->result;
	unsigned int maxlen = c->maxlen, sz = 0;
	u32 chunk = c->first, heat = tier_policy_heat(set, chunk), counters;
	const char *state, *missed, *reason;
	unsigned int pin;
	struct tier *t;
	u64 word;

	spin_lock_irq(&set->lock);
	word = set->map[chunk];
	missed = __tier_missed(set, chunk);
	spin_unlock_irq(&set->lock);

	reason = missed ? missed : reasons[word >> TIER_WORD_REASON_SHIFT].name;
	t = set->by_id[tier_word_id(word)];
	if (!(word & TIER_ENTRY_MAPPED)) {
		state = "unmapped";
		DMEMIT("rank - place -");
	} else {
		state = !tier_present(t) ? "missing" :
			word & TIER_WORD_NEW ? "new" :
			word & TIER_WORD_MOVING ? "migrating" : "mapped";
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
	DMEMIT(" state %s reason %s held %s", state, reason, holds[tier_mover_why(set, chunk)]);
	return 1;
}

static int do_holds(struct call *c)
{
	char *result = c->result;
	unsigned int maxlen = c->maxlen, sz = 0, i;

	for (i = TIER_HOLD_NOTHING + 1; i < TIER_NR_HOLDS; i++)
		DMEMIT("%s%s %llu", sz ? " " : "", holds[i], tier_policy_held(c->set, i));
	return 1;
}

/* A line for each tier. */
static int do_wear(struct call *c)
{
	struct tier_set *set = c->set;
	unsigned int maxlen = c->maxlen, sz = 0, rank;
	char *result = c->result;
	struct tier_wear_state w;

	for (rank = 0; rank < set->nr_tiers; rank++) {
		tier_wear_get(set, set->tiers[rank], &w);
		DMEMIT("%u %llu %llu %llu %lld\n", rank, w.written, w.used, w.allowed, w.left);
	}
	return 1;
}

/* A line for each tier, in the order of enum tier_class. */
static int do_latency(struct call *c)
{
	unsigned int maxlen = c->maxlen, sz = 0, rank, class;
	char *result = c->result;

	for (rank = 0; rank < c->set->nr_tiers; rank++) {
		const struct tier *t = c->set->tiers[rank];

		DMEMIT("%u", rank);
		for (class = 0; class < TIER_NR_CLASSES; class++)
			DMEMIT(" %u %u", tier_gauge_unloaded_ns(t, class),
			       tier_gauge_now_ns(t, class));
		DMEMIT("\n");
	}
	return 1;
}

static int do_day(struct call *c)
{
	char *result = c->result;
	unsigned int maxlen = c->maxlen, sz = 0, rank;
	struct tier_deeds day;

	tier_policy_day(c->set, &day);
	DMEMIT("seconds %llu promotions %llu demotions %llu migrated_sectors %llu",
	       div_u64(day.ns, NSEC_PER_SEC), day.promotions, day.demotions,
	       day.migrated_sectors);
	for (rank = 0; rank < c->set->nr_tiers; rank++)
		DMEMIT(" served%u %llu", rank, day.served[rank]);
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
	tier_saver_save(set);
	r = tier_settle_error(set, tier_metadata_reserve_snap(set->metadata));
	if (!r)
		tier_watch_space(set);
	mutex_unlock(&set->commit);
	if (r == -EBUSY)
		refuse(c, "there is a metadata snapshot already");
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
		tier_set_adopt_size(set);
	return r == -EINVAL ? refuse(c, "there is no metadata snapshot") : r;
}

/* Who uses the set, so that another machine that sees its devices does not. */
static int do_owner(struct call *c)
{
	struct tier_owner owner = { .time = ktime_get_real_seconds() };
	int r;

	if (strlen(c->argv[1]) != 2 * TIER_UUID_SIZE || strlen(c->argv[2]) != 2 * TIER_UUID_SIZE ||
	    hex2bin(owner.machine, c->argv[1], TIER_UUID_SIZE) ||
	    hex2bin(owner.boot, c->argv[2], TIER_UUID_SIZE))
		return refuse(c, "a machine and its boot are named by 32 hexadecimal digits each");
	if (tier_set_frozen(c->set))
		return -EROFS;
	mutex_lock(&c->set->commit);
	tier_metadata_set_owner(c->set->metadata, &owner);
	r = commit_change(c->set, 0);
	mutex_unlock(&c->set->commit);
	return r;
}

static const struct message messages[] = {
	{ "pause", 1, 1, false, 0, true, do_pause_or_resume },
	{ "resume", 1, 1, false, 0, true, do_pause_or_resume },
	{ "set", 3, 3, false, 0, true, do_set },
	{ "migrate", 4, 5, true, 3, true, do_migrate },
	{ "pin", 4, 4, true, 3, true, do_pin },
	{ "unpin", 3, 3, true, 0, true, do_unpin },
	{ "evacuate", 2, 2, false, 1, true, do_evacuate },
	{ "admit", 2, 2, false, 1, true, do_admit },
	{ "revert", 2, 2, false, 0, true, do_revert },
	{ "owner", 3, 3, false, 0, true, do_owner },
	{ "heat", 4, 4, true, 0, false, do_heat },
	{ "chunk", 2, 2, true, 0, false, do_chunk },
	{ "holds", 1, 1, false, 0, false, do_holds },
	{ "wear", 1, 1, false, 0, false, do_wear },
	{ "latency", 1, 1, false, 0, false, do_latency },
	{ "day", 1, 1, false, 0, false, do_day },
	{ "reserve_metadata_snap", 1, 1, false, 0, true, do_reserve_snap },
	{ "release_metadata_snap", 1, 1, false, 0, true, do_release_snap },
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
	c.message = &messages[i];
	if (argc < c.message->min_args || argc > c.message->max_args)
		return refuse(&c, "wrong number of arguments");

	r = enter(&c) ? : parse(&c) ? : c.message->fn(&c);
	if (c.locked)
		mutex_unlock(&c.set->config);
	if (r == -EROFS)
		refuse(&c, "the set is read-only");
	return r;
}
