/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the calls of a native function end. Compilers put what is seldom run elsewhere: those parts
 * are found on the way.
 */
#ifndef RUNTIME_NATIVE_EXITS_H
#define RUNTIME_NATIVE_EXITS_H

#include "code/exits.h"

struct elf;
struct error;
struct native_symbol;
struct native_symbols;

/*
 * exits_find() for a native function, by address as linked. gcc and clang put what is seldom run
 * into a symbol of its own ("NAME.cold"), and jump there: it is added as it is met. Where that
 * symbol was taken out of the file, it is known by its entry in .eh_frame, if the jump is with a
 * frame up; one without looks like a tail call. Of NativeAOT's methods probes are where those of
 * other .NET code are. -ENOMEM with @err set.
 */
int native_find_exits(struct exits *exits, const struct elf *elf, struct native_symbols *symbols,
		      const struct native_symbol *function, struct error *err);

/* For struct exit_body: tables in a file; @ctx is its struct elf. */
bool exit_read_elf(void *ctx, uint64_t at, void *to, size_t size);

#endif
