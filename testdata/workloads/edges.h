/* Every helper makes two marks: LABEL/before ahead of its first step, LABEL/after behind its last. */
#pragma once

#include "truth.h"

static inline void edge(const char *label, const char *which)
{
	char name[LABEL];
	int k = 0;

	while (label[k] && k < LABEL - 8) {
		name[k] = label[k];
		k++;
	}
	*put(name + k, which) = 0;
	truth_mark(name);
}

static inline const char *edge_before(const char *label)
{
	edge(label, "/before");
	return label;
}

static inline void edge_after(const char **label) { edge(*label, "/after"); }

#define EDGES(label) const char *edges __attribute__((cleanup(edge_after), unused)) = edge_before(label)
