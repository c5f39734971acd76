/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file with V8 in it (node, libnode.so) says of the engine by its symbols: the version, the
 * constants that debuggers are given (v8dbg_), where the code of builtins is and where a thread's
 * isolate. layout.h makes a layout of it, engine.h finds isolates.
 *
 * Source: V8's tools/gen-postmortem-metadata.py, src/snapshot/embedded/embedded-data.h,
 * src/execution/isolate.cc.
 */
#ifndef RUNTIME_V8_SYMBOLS_H
#define RUNTIME_V8_SYMBOLS_H

#include "bpf/event.h"
#include "image/elf.h"
#include "image/symbol_table.h"
#include "runtime/v8/layout.h"

struct error;

struct v8_constant {
	const char *name; /* without v8dbg_ */
	int32_t value;
};

/* Addresses are as linked; 0: the file does not say. */
struct v8_symbols {
	struct elf elf;
	int fd; /* of the file, borrowed; -1: there is none */
	struct v8_version version;
	struct symbol_table exports; /* with a hash: that tells constants, until all names are */
	bool read;
	struct v8_constant *constants; /* by name */
	size_t constant_count;
	size_t constant_room;

	uint64_t blob_begin; /* the code of builtins, if all names are read */
	uint64_t blob_end;
	struct span bytecode_sizes;
	uint64_t isolate_key; /* of pthread_getspecific(), an int; up to V8 10 */
	uint64_t tls_isolate; /* in the file's block of thread-local storage */
	uint64_t tls_bytes;   /* of that block, as the program's */
	bool has_tls_isolate;
	uint64_t moves[V8_MOVES]; /* where enum v8_move is probed; all or none */
};

/* Does the file hold V8? Quick, for those that do not. */
bool v8_symbols_present(struct span file);

/*
 * Read those of @file, which must outlive them, as must its @fd, if it is not -1. -ENOENT if it has
 * no V8, -ENOMEM; with @err set.
 */
int v8_symbols_init(struct v8_symbols *symbols, struct span file, int fd, struct error *err);
void v8_symbols_deinit(struct v8_symbols *symbols);

/*
 * Look for the code of builtins, whose names most files only have among all, which takes as long as
 * v8_symbols_init() does where that is not enough otherwise. False: the file does not say.
 */
bool v8_symbols_find_blob(struct v8_symbols *symbols);

/* Is there a constant v8dbg_@name, and which? */
bool v8_symbols_constant(const struct v8_symbols *symbols, const char *name, int32_t *value);

#endif
