/* SPDX-License-Identifier: GPL-2.0-only */
/* Suggests a known word for an unknown one. */
#ifndef TIERCTL_SUGGEST_H
#define TIERCTL_SUGGEST_H

struct suggestion {
	const char *typed;
	const char *best;	/* one of the offered words, NULL if none is near */
	unsigned int distance;
};

void suggestion_init(struct suggestion *g, const char *typed);
/* Offers a known word; it must live as long as the suggestion is used. */
void suggestion_offer(struct suggestion *g, const char *known);
/* " Did you mean BEFOREword?", or nothing; the caller frees it. */
char *suggestion_text(const struct suggestion *g, const char *before);

#endif
