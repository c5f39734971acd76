/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf map that a runtime writes while it runs: names of the code it compiles, by
 * address. An extra source only: rows of code that is long gone stay in it, and a later row
 * counts before an earlier one.
 */
#ifndef RUNTIME_DOTNET_PERF_MAP_H
#define RUNTIME_DOTNET_PERF_MAP_H

#include <stdbool.h>

#include "image/space.h"
#include "mapparse/mapparse.h"

struct perf_map;

struct perf_map_row {
	struct address start; /* first: base/sorted.h */
	uint64_t size;
	enum mapparse_kind kind;
	enum mapparse_tier tier;
	const char *name; /* canonical for methods, as written for others; owned by the map */
	size_t name_at;	  /* in the map's names */
	uint64_t order;	  /* of the file: a later row for the same place counts */
};

/* Read the map behind @fd, which is taken over. NULL without memory. */
struct perf_map *perf_map_create(int fd);
void perf_map_destroy(struct perf_map *map);

/* Read it again if the runtime has added to it since; false if it has not. */
bool perf_map_refresh(struct perf_map *map);

/* The row whose code holds @address, or NULL. Valid until the next refresh. */
const struct perf_map_row *perf_map_find(const struct perf_map *map, struct address address);

/* Rows by address, of which none lies in another. */
size_t perf_map_count(const struct perf_map *map);
const struct perf_map_row *perf_map_row(const struct perf_map *map, size_t index);

#endif
