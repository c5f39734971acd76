/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * P/Invokes: methods that are calls of native functions. Where nothing of what is passed has to be
 * converted, callers that are compiled ahead of time or optimised call the function directly, and
 * never run a body of the method. Where something has to be, each call goes by a stub in IL.
 *
 * Source of the rules: dotnet/runtime src/coreclr/vm/dllimport.cpp (MarshalingRequired), and the
 * same of crossgen2, src/coreclr/tools/Common/TypeSystem/Interop/IL/Marshaller.cs; alike in .NET 8,
 * 9 and 10.
 */
#ifndef RUNTIME_DOTNET_PINVOKE_H
#define RUNTIME_DOTNET_PINVOKE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/cursor.h"

struct dotnet_images;
struct metadata;
struct method_id;
struct target;
struct target_file;
struct text;

/* What the runtime calls the stubs in IL: src/coreclr/vm/ilstubcache.cpp. */
#define PINVOKE_STUB_NAME "IL_STUB_PInvoke"

/*
 * May callers of method @rid call its native function themselves? False if it is no P/Invoke, or
 * something has to be converted for sure.
 */
bool pinvoke_may_be_inlined(const struct metadata *metadata, uint32_t rid);

/*
 * Which P/Invokes of a module share a stub depends on their signatures, among others. Put the
 * parameters of @signature, in the words of @metadata, into @params, as pinvoke_may_share() takes
 * them.
 */
void pinvoke_spell_params(struct span signature, const struct metadata *metadata,
			  struct text *params);

/* May method @rid go by a stub with @params? Not if it is no P/Invoke, or takes others. */
bool pinvoke_may_share(const struct metadata *metadata, uint32_t rid, const char *params);

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
