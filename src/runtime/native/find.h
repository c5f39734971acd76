/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a pattern and an ELF file to bodies: the functions that match by their symbols, each with
 * where a probe would be.
 */
#ifndef RUNTIME_NATIVE_FIND_H
#define RUNTIME_NATIVE_FIND_H

#include "image/elf.h"
#include "runtime/native/symbols.h"
#include "code/exits.h"
#include "method/body.h"

struct error;

/* All zero at first but for what is asked. May be used for several files and patterns. */
struct native_search {
	struct pattern *pattern;
	struct elf elf;
	struct native_symbols *symbols; /* NULL: it has none */
	const char *image;		/* these two as struct method_body has them */
	size_t file;
	uint64_t place; /* target_file_place(); 0: not known */
	/*
	 * That has the file mapped: where its code is in memory, 0 if that is not executable. NULL:
	 * where it will be is not known yet; that it will be in code is.
	 */
	const struct target *target;
	bool timed; /* as struct body_query has it */
	body_fn fn;
	void *ctx;

	size_t matched; /* in all files so far */

	const uint8_t *module_of; /* the bytes of the file that @module is of, see find.c */
	uint64_t module;

	/* Scratch. */
	struct native_name name;
	struct exits of_unlisted; /* of functions that are not in .eh_frame */
	struct exits exits;
};

/* Call @search->fn for what matches. -ENOMEM, or -E2BIG for a runaway regex, with @err set. */
int native_search_run(struct native_search *search, struct error *err);
void native_search_deinit(struct native_search *search);

/*
 * exits_find() for a native function, by address as linked. gcc and clang put what is seldom run
 * into a symbol of its own ("NAME.cold"), and jump there: it is added as it is met. Where that
 * symbol was taken out of the file, it is known by its entry in .eh_frame, if the jump is with a
 * frame up; one without looks like a tail call. Of NativeAOT's methods probes are where those of
 * other .NET code are. -ENOMEM with @err set.
 */
int native_find_exits(struct exits *exits, const struct elf *elf, struct native_symbols *symbols,
		      const struct native_symbol *function, struct error *err);

/*
 * What functions of @elf have as their module: a build is one wherever copies lie, a file without
 * build ID is known by its @place, as above. 0: it cannot be told.
 */
uint64_t native_module(const struct elf *elf, uint64_t place);

#endif
