/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: follow a chunk through its migrations, and a set through its modes. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dm_tier

#if !defined(DM_TIER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DM_TIER_TRACE_H

#include <linux/tracepoint.h>

/* The numbers are those of enum tier_reason and enum tier_mode. */
#define TIER_REASON_NAMES \
	{ 0, "unmapped" }, { 1, "loaded" }, { 2, "first_write" }, { 3, "policy" }, \
	{ 4, "migrate" }, { 5, "pin" }, { 6, "evacuate" }, { 7, "home" }, { 8, "make_room" }
#define TIER_MODE_NAMES { 0, "rw" }, { 1, "ro" }, { 2, "fail" }

DECLARE_EVENT_CLASS(dm_tier_migration,
	TP_PROTO(dev_t dev, u32 chunk, unsigned int from, u64 from_place,
		 unsigned int to, u64 to_place, u32 reason, int error),
	TP_ARGS(dev, chunk, from, from_place, to, to_place, reason, error),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, chunk)
		__field(unsigned int, from)
		__field(u64, from_place)
		__field(unsigned int, to)
		__field(u64, to_place)
		__field(u32, reason)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->chunk = chunk;
		__entry->from = from;
		__entry->from_place = from_place;
		__entry->to = to;
		__entry->to_place = to_place;
		__entry->reason = reason;
		__entry->error = error;
	),
	TP_printk("%u:%u chunk %u tier %u place %llu to tier %u place %llu reason %s error %d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->chunk,
		  __entry->from, __entry->from_place, __entry->to,
		  __entry->to_place,
		  __print_symbolic(__entry->reason, TIER_REASON_NAMES),
		  __entry->error)
);

#define DEFINE_TIER_MIGRATION_EVENT(name) \
DEFINE_EVENT(dm_tier_migration, name, \
	TP_PROTO(dev_t dev, u32 chunk, unsigned int from, u64 from_place, \
		 unsigned int to, u64 to_place, u32 reason, int error), \
	TP_ARGS(dev, chunk, from, from_place, to, to_place, reason, error))

DEFINE_TIER_MIGRATION_EVENT(dm_tier_migrate_start);
DEFINE_TIER_MIGRATION_EVENT(dm_tier_migrate_end);
DEFINE_TIER_MIGRATION_EVENT(dm_tier_migrate_abort);

TRACE_EVENT(dm_tier_mode,
	TP_PROTO(dev_t dev, u32 from, u32 to),
	TP_ARGS(dev, from, to),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%u:%u %s to %s", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __print_symbolic(__entry->from, TIER_MODE_NAMES),
		  __print_symbolic(__entry->to, TIER_MODE_NAMES))
);

#endif /* DM_TIER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
