/* SPDX-License-Identifier: GPL-2.0-only */
/* What may have been meant by a word that is not known. */
#ifndef TIERCTL_SUGGEST_H
#define TIERCTL_SUGGEST_H

struct suggestion {
	const char *typed;
	const char *best;	/* one of those that were offered, NULL if none is near */
	unsigned int distance;
};

void suggestion_init(struct suggestion *g, const char *typed);
/* A word that is known; it must live as long as the suggestion is looked at. */
void suggestion_offer(struct suggestion *g, const char *known);
/* " Did you mean BEFOREword?", or nothing; the caller frees it. */
char *suggestion_text(const struct suggestion *g, const char *before);

#endif
