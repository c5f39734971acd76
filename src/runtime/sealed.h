/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of compiled code that the target never writes again: what a runtime says of them
 * (runtime.h). Only those may be copied for it, as a uprobe does in a private mapping.
 */
#ifndef RUNTIME_SEALED_H
#define RUNTIME_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum { SEALED_PAGE_BYTES = 4096 };

struct sealed_range {
	uint64_t begin; /* of a page; first: base/sorted.h */
	uint64_t end;
};

/* By address, none touching the next. All zeros: there are none. */
struct sealed_pages {
	struct sealed_range *ranges;
	size_t count;
	size_t capacity;
};

/* The pages [@begin, @end) are sealed. -ENOMEM with @err set. */
int sealed_pages_add(struct sealed_pages *pages, uint64_t begin, uint64_t end, struct error *err);

/* All have been added. */
void sealed_pages_sort(struct sealed_pages *pages);

/* Is the page that holds @address one of them? */
bool sealed_pages_have(const struct sealed_pages *pages, uint64_t address);

void sealed_pages_deinit(struct sealed_pages *pages);

#endif
