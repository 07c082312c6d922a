/* SPDX-License-Identifier: GPL-2.0-only */
/* Streams of first writes, in chunks.  Also compiled in user space, by the replay tool. */
#ifndef DM_TIER_STREAM_H
#define DM_TIER_STREAM_H

#include "policy-type.h"

#define TIER_STREAMS	8	/* told apart */
/* Of writes that are under way together a later one may come first. */
#define TIER_STREAM_SLACK	4

/* The chunk behind the last one of each, the oldest stream first. */
struct tier_streams {
	u64 next[TIER_STREAMS];
};

static inline void tier_streams_init(struct tier_streams *s)
{
	unsigned int i;

	for (i = 0; i < TIER_STREAMS; i++)
		s->next[i] = ~0ULL;
}

/* The one that chunk goes on with, TIER_STREAMS if there is none. */
static inline unsigned int tier_find_stream(const struct tier_streams *s, u64 chunk)
{
	unsigned int i = 0;

	while (i < TIER_STREAMS && (chunk + TIER_STREAM_SLACK < s->next[i] ||
				    chunk > s->next[i] + TIER_STREAM_SLACK))
		i++;
	return i;
}

/* Not the last chunk of a stream: its first write has failed, or it was discarded. */
static inline bool tier_in_stream(const struct tier_streams *s, u64 chunk)
{
	unsigned int i = tier_find_stream(s, chunk);

	return i < TIER_STREAMS && s->next[i] != chunk + 1;
}

/* The chunk got its first write: its stream is the newest now. */
static inline void tier_note_in_stream(struct tier_streams *s, u64 chunk)
{
	unsigned int i = tier_find_stream(s, chunk);
	u64 next = chunk + 1;

	if (i == TIER_STREAMS)
		i = 0;
	else if (s->next[i] > next)
		next = s->next[i];
	for (; i + 1 < TIER_STREAMS; i++)
		s->next[i] = s->next[i + 1];
	s->next[i] = next;
}

#endif /* DM_TIER_STREAM_H */
