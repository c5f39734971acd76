/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the JIT's compileMethod lies in its file: a uprobe at its entry and one at its `ret` see
 * every method as it is compiled. It is no export but the first virtual function of the object that
 * is: ICorJitCompiler, in dotnet/runtime src/coreclr/inc/corjit.h, which is laid out alike in .NET
 * 8 to 11.
 *
 * A probe in the wrong place damages the target, so what is found has also been decoded: it is a
 * function with one `ret`, where the stack pointer is what it was at the entry, however it gets
 * there.
 */
#ifndef RUNTIME_DOTNET_COMPILER_H
#define RUNTIME_DOTNET_COMPILER_H

#include "runtime/dotnet/clr.h"
#include "image/cursor.h"
#include "image/space.h"

struct jit_compiler {
	struct file_offset entry; /* an instruction that a uprobe costs little on */
	struct file_offset exit;  /* the `ret` */
};

/* In libclrjit.so, all of which is @file. -ENOTSUP with @err set. */
int jit_compiler_find(struct jit_compiler *compiler, struct span file, struct error *err);

/*
 * In a single-file executable that does not run yet: by how the function begins, and by the table
 * of virtual functions that it is in. -ENOTSUP with @err set.
 */
int jit_compiler_find_linked(struct jit_compiler *compiler, struct span file, struct error *err);

/*
 * In a single-file executable that runs, @bias from where it was linked: by the runtime's pointer
 * to it. -ENOTSUP (so also as long as no code heap has been made) or -ENOMEM with @err set.
 */
int jit_compiler_find_running(struct jit_compiler *compiler, const struct clr *clr,
			      struct span file, uint64_t bias, struct error *err);

#endif
