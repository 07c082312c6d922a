/* SPDX-License-Identifier: GPL-2.0-only */
/* The legs of a set's metadata on its tiers, as far as they are there; see mirror.h. */
#ifndef TIERCTL_LEGS_H
#define TIERCTL_LEGS_H

#include "block/device.h"
#include "format/leg.h"
#include "set/member.h"

struct mirror_leg {
	bool there;
	bool out;		/* was away while the other was used: is filled from that */
	struct device dev;	/* the tier's */
	unsigned int id;	/* of the tier */
	uint64_t at;		/* where its room begins, sectors */
	uint64_t room;		/* for metadata, sectors */
	struct member_leg look;
};

/* All zero: the set has no such metadata, or none of its legs is there. */
struct mirror {
	unsigned int nr;	/* legs */
	uint64_t generation, tag;
	uint64_t size;		/* sectors */
	bool doubled;		/* two devices say that they are the same leg */
	bool split;		/* each leg was used without the other */
	struct mirror_leg leg[LEGS_MAX];
	struct mirror_leg older[LEGS_MAX];	/* of a lower generation, the latest */
};

/* Adds the leg of a tier, if it has one, to the mirror of its set. */
void mirror_add(struct mirror *m, const struct member *tier);
/* The same for a mirror that is assembled: the leg is one of it. */
void mirror_put(struct mirror *m, const struct member *tier);
/*
 * When all are added: drops legs that are not usable, and takes an older one in the place of one
 * that is not there. Not if the legs are split.
 */
void mirror_settle(struct mirror *m, bool (*usable)(void *context, const struct mirror_leg *leg), void *context);
void mirror_free(struct mirror *m);
/* How many legs are there. */
unsigned int mirror_legs(const struct mirror *m);
/* The leg with the latest metadata, among those that are there; LEGS_MAX if there is none. */
unsigned int mirror_newest(const struct mirror *m);
/* Whether both legs are whole and were put aside together, in order: they have the same contents. */
bool mirror_in_sync(const struct mirror *m);
/* Whether dm-raid's superblocks have the size of a mirror of so many sectors, but for a leg that failed. */
bool mirror_has_noted(const struct mirror *m, uint64_t size);

/* Whether a device is such a metadata device, or a slice. */
bool mirror_is_device(dev_t dev);
/* Whether a leg of an assembled mirror lies on the device. */
bool mirror_lies_on(dev_t tier);

#endif
