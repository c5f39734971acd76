/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be known of a method beside its bodies, as text: what has inlined it, and which native
 * function a P/Invoke calls. For records of sites and the log; made from metadata and images.
 */
#ifndef RUNTIME_DOTNET_METHOD_NOTES_H
#define RUNTIME_DOTNET_METHOD_NOTES_H

#include "runtime/runtime.h"

struct dotnet_images;
struct dotnet_inlining;
struct method_id;
struct target;
struct target_file;
struct text;

/*
 * The methods that have inlined method @id; @named of them have names at most. 0, also if nothing
 * is known, or -ENOMEM. In any case method_inliners_deinit() frees what there is. @inlining may be
 * NULL.
 */
int dotnet_method_inliners(struct method_inliners *inliners, struct dotnet_inlining *inlining,
			   const struct dotnet_images *images, const struct method_id *id,
			   size_t named);

/* Where native functions are looked for. */
struct dotnet_import_sources {
	const struct dotnet_images *images;
	const struct target *target;
	const struct target_file *runtime; /* that the runtime's own functions are in; or NULL */
	bool (*has_function)(void *ctx, const struct target_file *file, const char *name);
	void *ctx;
};

/*
 * Append "libc.so.6!write", as a pattern has it, for what method @id calls. False if it is no
 * P/Invoke, or none of the target's libraries has such a name and such a function. (The program
 * itself may choose another one.)
 */
bool dotnet_method_import(const struct dotnet_import_sources *sources, const struct method_id *id,
			  struct text *out);

#endif
