// SPDX-License-Identifier: GPL-2.0-only
#include "format/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* 2^32 entries need four levels of nodes at least a third full. */
#define DEPTH_MAX	8

bool md_count(struct md_counts *counts, u64 block)
{
	if (!counts)
		return true;
	if (block >= counts->nr)
		return false;
	if (counts->count[block] != UINT32_MAX)
		counts->count[block]++;
	return counts->count[block] == 1;
}

struct level {
	struct md_tree *tree;
	unsigned int depth;
	u32 kind;		/* of its nodes; 0: not known yet */
	struct md_refs below;
};

static const char *judge_keys(const struct md_btree_node *n, const struct md_ref *ref)
{
	u32 i, nr = le32_to_cpu(n->nr_entries);
	u64 next = ref->first;

	for (i = 0; i < nr; i++) {
		u64 key = md_node_key(n, i);

		if (key < next || key >= ref->end)
			return "order of keys";
		next = key + 1;
	}
	return NULL;
}

static const char *judge(struct level *l, const struct md_ref *ref, const struct md_btree_node *n)
{
	const char *why;
	u32 flags;

	if (!n)
		return ref->block < l->tree->src->nr_blocks ? "cannot be read" : "past the end";
	why = md_judge_node(n, ref->block, l->tree->value_size);
	if (!why)
		why = judge_keys(n, ref);
	if (why)
		return why;
	/* Only the root may be empty. */
	if (l->depth && !n->nr_entries)
		return "empty";
	/* All leaves are at one depth. */
	flags = le32_to_cpu(n->flags);
	if (l->kind && l->kind != flags)
		return "a leaf at another depth";
	if (flags == MD_BTREE_INTERNAL && l->depth == DEPTH_MAX)
		return "a tree without end";
	l->kind = flags;
	return NULL;
}

static void take_child(struct level *l, const struct md_ref *ref, const struct md_btree_node *n, u32 i)
{
	struct md_ref child = { .first = md_node_key(n, i), .end = ref->end };
	__le64 number;

	if (i + 1 < le32_to_cpu(n->nr_entries))
		child.end = md_node_key(n, i + 1);
	memcpy(&number, md_node_value(n, i), sizeof(number));
	child.block = le64_to_cpu(number);
	child.fresh = ref->fresh && md_count(l->tree->counts, child.block);
	md_refs_add(&l->below, &child);
}

static void take_node(void *context, const struct md_ref *ref, const void *data)
{
	struct level *l = context;
	struct md_tree *t = l->tree;
	const struct md_btree_node *n = data;
	const char *why = judge(l, ref, n);
	u32 i;

	if (why) {
		t->bad(t->context, ref, why);
		return;
	}
	for (i = 0; i < le32_to_cpu(n->nr_entries); i++) {
		if (le32_to_cpu(n->flags) == MD_BTREE_INTERNAL)
			take_child(l, ref, n, i);
		else
			t->value(t->context, md_node_key(n, i), md_node_value(n, i), ref->fresh);
	}
}

void md_tree_walk(struct md_tree *t, u64 root)
{
	struct md_ref top = { .block = root, .end = t->end, .fresh = md_count(t->counts, root) };
	struct level level = { .tree = t };
	struct md_refs refs = { 0 };

	md_refs_add(&refs, &top);
	while (refs.nr) {
		md_source_read_all(t->src, &refs, take_node, &level);
		md_refs_free(&refs);
		refs = level.below;
		level = (struct level){ .tree = t, .depth = level.depth + 1 };
	}
	md_refs_free(&refs);
}

/*
 * Arrays: the tree's values are blocks, its keys count these blocks.
 */

struct array_walk {
	struct md_array *array;
	u32 per_block;
	u64 nr_blocks;
	struct md_refs blocks;
	u8 *seen;		/* a bit for each block: read, or known to be lost */
};

static bool see(struct array_walk *w, u64 key)
{
	bool seen = w->seen[key / 8] >> key % 8 & 1;

	w->seen[key / 8] |= 1 << key % 8;
	return seen;
}

/* Blocks first to end - 1 of the array. */
static void lose(struct array_walk *w, u64 first, u64 end, u64 block, const char *why)
{
	struct md_array *a = w->array;
	u64 last = end * w->per_block;

	a->lost(a->context, first * w->per_block, last < a->nr ? last : a->nr, block, why);
}

static void array_node_bad(void *context, const struct md_ref *ref, const char *why)
{
	struct array_walk *w = context;
	u64 key;

	/* Orphans may replace some of these blocks. */
	if (w->array->orphans)
		return;
	for (key = ref->first; key < ref->end; key++)
		see(w, key);
	lose(w, ref->first, ref->end, ref->block, why);
}

static void take_number(void *context, u64 key, const void *value, bool fresh)
{
	struct array_walk *w = context;
	struct md_ref ref = { .first = key, .end = key + 1 };
	__le64 number;

	memcpy(&number, value, sizeof(number));
	ref.block = le64_to_cpu(number);
	ref.fresh = fresh && md_count(w->array->counts, ref.block);
	see(w, key);
	md_refs_add(&w->blocks, &ref);
}

static const char *judge_block(const struct array_walk *w, const struct md_array_block *b, u64 key,
			       u64 block)
{
	u64 left = w->array->nr - key * w->per_block;
	u32 nr = left < w->per_block ? left : w->per_block;
	const char *why;

	if (!b)
		return block < w->array->src->nr_blocks ? "cannot be read" : "past the end";
	why = md_judge_array(b, block, w->array->value_size);
	return why || le32_to_cpu(b->nr_entries) == nr ? why : "number of its entries";
}

static void take_block(void *context, const struct md_ref *ref, const void *data)
{
	struct array_walk *w = context;
	const struct md_array_block *b = data;
	const char *why = judge_block(w, b, ref->first, ref->block);

	if (why)
		lose(w, ref->first, ref->first + 1, ref->block, why);
	else
		w->array->values(w->array->context, ref->first * w->per_block,
				 le32_to_cpu(b->nr_entries), b->values);
}

/* The orphans of the other array have the same keys, but not the same size of values. */
static bool fits(const struct array_walk *w, const struct md_ref *orphan)
{
	void *block;
	bool good;

	if (posix_memalign(&block, MD_BLOCK, MD_BLOCK))
		out_of_memory();
	good = !md_source_read(w->array->src, orphan->block, block) &&
	       !judge_block(w, block, orphan->first, orphan->block);
	free(block);
	return good;
}

static void adopt_orphans(struct array_walk *w)
{
	const struct md_refs *orphans = w->array->orphans;
	size_t i, end;

	for (i = 0; orphans && i < orphans->nr; i = end) {
		u64 key = orphans->ref[i].first;
		const struct md_ref *found = NULL;
		unsigned int fitting = 0;

		for (end = i; end < orphans->nr && orphans->ref[end].first == key; end++)
			if (key < w->nr_blocks && fits(w, &orphans->ref[end])) {
				found = &orphans->ref[end];
				fitting++;
			}
		/* With two fitting orphans nothing tells which is right. */
		if (fitting == 1 && !(w->seen[key / 8] >> key % 8 & 1)) {
			see(w, key);
			md_refs_add(&w->blocks, found);
		}
	}
}

static void lose_unseen(struct array_walk *w)
{
	u64 key, first;

	for (key = 0; key < w->nr_blocks; key++) {
		first = key;
		while (key < w->nr_blocks && !see(w, key))
			key++;
		if (key > first)
			lose(w, first, key, 0, w->array->orphans ? "below a damaged block" : "not there");
	}
}

void md_array_walk(struct md_array *a, u64 root)
{
	struct array_walk w = { .array = a, .per_block = md_array_max(a->value_size) };
	struct md_tree tree = {
		.src = a->src,
		.counts = a->counts,
		.value_size = sizeof(__le64),
		.value = take_number,
		.bad = array_node_bad,
		.context = &w,
	};

	w.nr_blocks = DIV_ROUND_UP_ULL(a->nr, w.per_block);
	w.seen = xcalloc(w.nr_blocks / 8 + 1, 1);
	tree.end = w.nr_blocks;
	md_tree_walk(&tree, root);
	adopt_orphans(&w);
	lose_unseen(&w);
	md_source_read_all(a->src, &w.blocks, take_block, &w);
	md_refs_free(&w.blocks);
	free(w.seen);
}
