/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that the runtime of a live process has compiled, as it was at one time: each body with
 * its method, its tier, and whether calls go to it.
 */
#ifndef RUNTIME_DOTNET_JIT_H
#define RUNTIME_DOTNET_JIT_H

#include "runtime/dotnet/clr_module.h"
#include "runtime/dotnet/codeheap.h"
#include "runtime/dotnet/clr_type.h"
#include "method/body.h"

struct dotnet_runtime;

struct jit_method {
	struct clr_method is; /* first, with its MethodDesc: base/sorted.h */
	uint32_t first_body;  /* see jit_method_body() */
	uint32_t body_count;
	/* The precompiled body that the method began with; 0 if it did not, or it is not known. */
	struct address precompiled;
	/* Its first version was compiled at run time, whatever precompiled code there is. */
	bool precompiled_rejected;
};

struct jit_body {
	struct address start;
	uint32_t size;
	const struct jit_method *method; /* NULL: could not be read */
	enum tier tier;
	enum body_state state;
	bool final; /* no newer body will take its place */
};

/* What others than jit.c and jit_read.c only look at. */
struct jit {
	struct clr clr; /* how the runtime's structures are laid out */
	clr_image_source image_source;
	void *ctx;

	/* The snapshot: see jit_read(), and for images jit_read_images(). */
	struct clr_modules modules;
	struct clr_types types;
	struct code_heaps heaps;
	struct jit_body *bodies; /* by address */
	size_t body_count;
	struct jit_method *methods; /* each once, by MethodDesc */
	size_t method_count;
	struct jit_row
		*rows; /* of metadata that have code, sorted; made when it is first asked for */
	uint32_t *body_numbers;	 /* method by method */
	uint64_t core_allocator; /* of all that is never unloaded; 0: not known */
	size_t unreadable; /* bodies, heaps, methods that changed while they were read; left out */
	struct code_image *images; /* whose precompiled code is used */
	size_t image_count;

	/* Of jit_recheck_begin(). */
	struct clr_modules modules_now;
	struct clr_types types_now;
};

/*
 * Find the runtime's structures in @memory, which must outlive the result, as must what
 * @image_source gives. -ENOTSUP, -EBADMSG or -ENOMEM with @err set.
 */
int jit_create(struct jit **jit, struct memory *memory, const struct dotnet_runtime *runtime,
	       clr_image_source image_source, void *ctx, struct error *err);
void jit_destroy(struct jit *jit);

/*
 * Make a new snapshot of what is compiled. What was given out of the last one is no longer valid.
 * After an error (-EBADMSG or -ENOMEM with @err set; so when the target is gone) that still holds.
 */
int jit_read(struct jit *jit, struct error *err);

/*
 * Read only which images the runtime uses precompiled code of now. -EBADMSG or -ENOMEM with @err
 * set, and the last snapshot still holds. It is a jit_recheck_begin() too.
 */
int jit_read_images(struct jit *jit, struct error *err);

const struct jit_body *jit_find_body(const struct jit *jit, struct address address);

/* The @index-th body of a method. */
const struct jit_body *jit_method_body(const struct jit *jit, const struct jit_method *method,
				       size_t index);

/* The module whose P/Invokes may go by @method, if it is such a stub in IL; else NULL. */
const struct clr_module *jit_stub_module(const struct jit *jit, const struct jit_method *method);

/* Is there code of row @rid of @image? */
bool jit_has_method(struct jit *jit, const struct dotnet_image *image, uint32_t rid);

/* Put the parts of the name into @name (cleared first); see clr_type.h. */
bool jit_method_name(struct jit *jit, const struct jit_method *method, struct method_name *name);

/*
 * Look at the memory as it is now, to check what jit_read() has found: whatever was the same before
 * and after its name was read was named right.
 */
void jit_recheck_begin(struct jit *jit);

/* Is @body still there? Then the name that its method has now is put into @name. */
bool jit_recheck(struct jit *jit, const struct jit_body *body, struct method_name *name);

/*
 * The method at @desc as the target's memory has it now: its name and, unless it is dynamic, the
 * metadata and row that define it. False if there is none. After jit_recheck_begin().
 */
bool jit_name_desc(struct jit *jit, uint64_t desc, struct method_name *name,
		   struct clr_method *method);

/*
 * Is the code at @offset of the body at @code an exception filter? Those run before an exception
 * unwinds anything, other handlers after that. After jit_recheck_begin().
 */
bool jit_in_filter(struct jit *jit, struct address code, uint32_t offset);

/*
 * The offset in the method's IL that the code at @offset of the body at @code was made of. False:
 * not known. After jit_recheck_begin().
 */
bool jit_find_il(struct jit *jit, struct address code, uint32_t offset, uint32_t *il_offset);

/*
 * What the runtime's own code at @address is by now, in its own words: "FixupPrecode",
 * "VSD_ResolveStub". NULL if it is no stub, or none whose kind is written down.
 */
const char *jit_stub_name(struct jit *jit, struct address address);

/* Is there a method at @desc? After jit_recheck_begin(). */
bool jit_has_desc(struct jit *jit, uint64_t desc);

/* May the method be unloaded, and others take its place? */
bool jit_may_be_freed(struct jit *jit, const struct jit_method *method);

#endif
