// SPDX-License-Identifier: GPL-2.0-only
#include "tree.h"

#include <stdlib.h>

#include "../util.h"

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
	u32 kind;		/* of its nodes; 0: none seen yet */
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
	u8 *seen;		/* a bit for each block: known, or known to be lost */
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

static void take_block(void *context, const struct md_ref *ref, const void *data)
{
	struct array_walk *w = context;
	struct md_array *a = w->array;
	const struct md_array_block *b = data;
	u64 first = ref->first * w->per_block, left = a->nr - first;
	u32 nr = left < w->per_block ? left : w->per_block;
	const char *why;

	if (!b)
		why = ref->block < a->src->nr_blocks ? "cannot be read" : "past the end";
	else
		why = md_judge_array(b, ref->block, a->value_size);
	if (!why && le32_to_cpu(b->nr_entries) != nr)
		why = "number of its entries";
	if (why)
		lose(w, ref->first, ref->end, ref->block, why);
	else
		a->values(a->context, first, nr, b->values);
}

static void lose_unseen(struct array_walk *w)
{
	u64 key, first;

	for (key = 0; key < w->nr_blocks; key++) {
		first = key;
		while (key < w->nr_blocks && !see(w, key))
			key++;
		if (key > first)
			lose(w, first, key, 0, "not there");
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

	w.nr_blocks = md_div_up(a->nr, w.per_block);
	w.seen = xcalloc(w.nr_blocks / 8 + 1, 1);
	tree.end = w.nr_blocks;
	md_tree_walk(&tree, root);
	lose_unseen(&w);
	md_source_read_all(a->src, &w.blocks, take_block, &w);
	md_refs_free(&w.blocks);
	free(w.seen);
}
