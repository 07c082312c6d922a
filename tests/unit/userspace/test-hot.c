// SPDX-License-Identifier: GPL-2.0-only
/* The files in a chunk, found by the index of overlapping places, compared with asking each file. */
#include <stdlib.h>
#include <string.h>

#include "set/hot.h"
#include "../tap.h"
#include "base/util.h"

/* The functions that fill an index are not tested here. */
void finder_init(struct tier_context *ctx, struct finder *f, const struct set_list *sets, bool sync) { (void)ctx; (void)f; (void)sets; (void)sync; }
void finder_free(struct finder *f) { (void)f; }
struct set *stack_find_set(struct stack *s, dev_t dev) { (void)s; (void)dev; return NULL; }
bool mounts_have_root(const struct mounts *list, dev_t dev) { (void)list; (void)dev; return false; }
int mount_open_root(const struct mounts *list, dev_t dev) { (void)list; (void)dev; return -1; }
const struct mount *mounts_find(const struct mounts *list, dev_t dev) { (void)list; (void)dev; return NULL; }
int walk_directory(struct walk *walk, int fd, const char *path) { (void)walk; (void)fd; (void)path; return 0; }
int extents_read(int fd, bool sync, struct extents *list) { (void)fd; (void)sync; (void)list; return -1; }
void extents_free(struct extents *list) { (void)list; }

int stack_map(struct stack *stack, dev_t dev, uint64_t at, uint64_t count,
	      int (*fn)(void *context, struct set *s, uint64_t at, uint64_t count), void *context)
{
	(void)stack; (void)dev; (void)at; (void)count; (void)fn; (void)context;
	return 0;
}

int heat_hottest(const struct set *s, unsigned int max, struct heat_bucket **hottest, unsigned int *nr)
{
	(void)s; (void)max;
	*hottest = NULL;
	*nr = 0;
	return 0;
}

#define PLACES	40
#define SECTORS	2000

static uint64_t part(const struct place *p, uint64_t at, uint64_t end)
{
	uint64_t from = p->at > at ? p->at : at, to = p->at + p->count < end ? p->at + p->count : end;

	return to > from ? to - from : 0;
}

int main(void)
{
	static char name[PLACES][8];
	char *file[PLACES];
	struct place place[PLACES];
	struct file_index index = { .nr_files = PLACES, .file = file, .place = place };
	static struct set sets[2];
	bool good = true;
	unsigned int round, i;
	uint64_t chunk;

	srand(17);
	for (i = 0; i < PLACES; i++) {
		snprintf(name[i], sizeof(name[i]), "%u", i);
		file[i] = name[i];
	}
	for (round = 0; round < 3000; round++) {
		const struct set *s = &sets[rand() % 2];

		index.nr_places = rand() % (PLACES + 1);
		for (i = 0; i < index.nr_places; i++)
			place[i] = (struct place){
				.set = &sets[rand() % 2], .at = rand() % SECTORS,
				.count = 1 + rand() % (rand() % 4 ? 50 : SECTORS), .file = i,
			};
		file_index_sort(&index);
		sets[0].chunk_sectors = sets[1].chunk_sectors = 128;
		for (chunk = 0; chunk < 2 * SECTORS / 128; chunk++) {
			const char *owner = hot_owner(&index, s, chunk);
			uint64_t most = 0, owned = 0;

			for (i = 0; i < index.nr_places; i++) {
				uint64_t n = place[i].set == s ? part(&place[i], chunk * 128, (chunk + 1) * 128) : 0;

				most = n > most ? n : most;
				if (owner && !strcmp(owner, file[place[i].file]))
					owned = n > owned ? n : owned;
			}
			good &= owned == most && !owner == !most;
		}
	}
	ok(good, "the file that most of a chunk belongs to, with places that overlap");
	return tap_done();
}
