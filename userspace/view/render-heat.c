// SPDX-License-Identifier: GPL-2.0-only
/* JSON of the hot chunks and files, and of where they lie. */
#include "dm/status.h"
#include "set/hot.h"
#include "set/set.h"
#include "view/picture.h"
#include "view/render-json.h"
#include "view/render.h"

static json_object *bucket_object(const struct set *s, const struct heat_bucket *b, uint64_t first)
{
	json_object *o = json_object_new_object(), *tiers = json_object_new_array();
	unsigned int i;

	put_number(o, "first", first);
	put_number(o, "count", b->count);
	put_number(o, "mapped", b->mapped);
	put_number(o, "reads", b->reads);
	put_number(o, "writes", b->writes);
	put_number(o, "heat", b->heat);
	for (i = 0; i < s->nr_tiers; i++)
		json_object_array_add(tiers, json_object_new_uint64(b->on_rank[i]));
	json_object_object_add(o, "tiers", tiers);
	return o;
}

void json_add_heatmap(const struct picture *p)
{
	json_object *o = json_new_set(p->set), *cells = json_object_new_array();
	unsigned int i;

	put_number(o, "chunk_size", p->set->chunk_sectors * 512);
	for (i = 0; i < p->nr_cells; i++)
		json_object_array_add(cells, bucket_object(p->set, &p->cell[i], cell_chunk(p, i)));
	json_object_object_add(o, "cells", cells);
}

static json_object *hot_files_array(const struct hot *hot)
{
	json_object *a = json_object_new_array();
	unsigned int i, rank;

	for (i = 0; i < hot->nr_files; i++) {
		const struct hot_file *f = &hot->file[i];
		json_object *o = json_object_new_object(), *tiers = json_object_new_array();

		put_string(o, "path", f->path);
		put_number(o, "heat", f->heat);
		for (rank = 0; rank < hot->set->nr_tiers; rank++)
			json_object_array_add(tiers, json_object_new_uint64(f->on_rank[rank]));
		json_object_object_add(o, "hot_bytes", tiers);
		json_object_array_add(a, o);
	}
	return a;
}

void json_add_hot(const struct hot *hot)
{
	json_object *o = json_last_set(), *chunks = json_object_new_array();
	unsigned int i;

	for (i = 0; i < hot->nr_chunks; i++)
		json_object_array_add(chunks, bucket_object(hot->set, &hot->chunk[i], hot->chunk[i].first));
	json_object_object_add(o, "hot_chunks", chunks);
	json_object_object_add(o, "hot_files", hot->have_files ? hot_files_array(hot) : NULL);
}
