/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of dotnet.h share: one pattern on its way from matches to bodies. */
#ifndef RUNTIME_DOTNET_DOTNET_INTERNAL_H
#define RUNTIME_DOTNET_DOTNET_INTERNAL_H

#include "code/exits.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/find.h"

struct dotnet_lines;
struct frame;
struct runtime_code;

struct dotnet_search {
	struct dotnet *dotnet;
	const struct body_query *query;
	body_fn fn;
	void *ctx;
	uint64_t source;    /* of the map file that is being walked */
	struct exits exits; /* of the body that is being told, if that is asked for */
	struct error *err;
};

/* As runtime_ops has them (follow.c and bodies.c). */
extern const struct runtime_follow_ops dotnet_follow_ops;
int dotnet_find_bodies(struct runtime *runtime, const struct body_query *query, body_fn fn,
		       void *ctx, struct error *err);

/* Where code at @rva of @image lies in file and memory; false if it is in no section. */
bool dotnet_place_body(const struct dotnet_search *search, const struct dotnet_image *image,
		       struct rva rva, struct method_body *body);

/* All that the image says of a body; @codes is what @body then borrows. -ENOMEM. */
int dotnet_describe_body(struct dotnet_search *search, const struct dotnet_image *image,
			 const struct r2r_body *r2r_body, struct method_body *body,
			 struct body_code codes[BODY_PARTS_MAX]);

/* As runtime_follow_ops has them (follow_code.c). */
int dotnet_find_code(struct runtime_code *code, const struct target_files *files,
		     const struct runtime *runtime, struct follow_shared *shared,
		     struct error *err);
enum tier dotnet_tier_of(uint64_t flags, bool *final);

/* Find what is compiled so far (bodies.c); jit_problem: why that cannot be done. -ENOMEM. */
int dotnet_read_jit(struct dotnet *dotnet, struct error *err);

/* As runtime_ops has them. */
bool dotnet_is_unchanged(struct runtime *runtime, struct address start, const char *method,
			 bool stub);
int dotnet_read_name(struct runtime *runtime, uint64_t handle, const struct name_query *query,
		     struct text *spelled, uint64_t *instantiation);
int dotnet_signature(struct runtime *runtime, const struct method_id *id, uint64_t method_desc,
		     const char *name, struct value_types *types,
		     struct value_signature *signature);
bool dotnet_base_type(struct runtime *runtime, uint64_t handle, uint64_t *base);
const struct value_type *dotnet_object_type(struct runtime *runtime, uint64_t handle,
					    struct value_types *types);
bool dotnet_context_name(struct runtime *runtime, uint64_t handle, bool is_method,
			 struct text *out);
const char *dotnet_throws(const struct runtime *runtime, code_place_fn fn, void *ctx);
const char *dotnet_collects(const struct runtime *runtime, code_place_fn fn, void *ctx);
bool dotnet_fault_path(const struct runtime *runtime, uint64_t at[ASYNC_HOPS]);
int dotnet_ranges(struct runtime *runtime, code_range_fn fn, void *ctx);
enum unwinder dotnet_elsewhere(const struct runtime *runtime, struct unwind_layouts *layouts);

void dotnet_log(const struct runtime *runtime, enum runtime_topic topic,
		const struct runtime_log *log);
int dotnet_use_maps(struct runtime *runtime, const char *path, const struct runtime_log *log,
		    struct error *err);

/*
 * Likewise (frame_names.c): the first that knows names a frame, the images' metadata or the
 * runtime's own structures. What cannot be named is unknown, never guessed.
 */
int dotnet_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err);

/* Lines of source (lines.c). @dotnet outlives them, and learns what was looked for in vain. */
struct dotnet_lines *dotnet_lines_create(struct dotnet *dotnet); /* NULL for want of memory */
void dotnet_lines_destroy(struct dotnet_lines *lines);

/*
 * Say in @frame where the IL at @il_offset of row @method_rid of @image was written, if that is
 * known; its source is valid until the next call.
 */
void dotnet_lines_find(struct dotnet_lines *lines, const struct dotnet_image *image,
		       uint32_t method_rid, uint32_t il_offset, struct frame *frame);

/* Tell what the pattern matches in map files, and in the target's perf map (map_names.c). */
int dotnet_tell_maps(struct dotnet_search *search);
int dotnet_tell_perf_map(struct dotnet_search *search);

/*
 * Call @fn for what may follow @word, the beginning of a method's name or of a pattern with an
 * image in front: the types and namespaces that begin so, up to the next dot or "::", and behind
 * "::" the methods, without parameters. Some come several times. What @fn returns but 0 ends it.
 * -ENOMEM.
 */
int dotnet_names(const struct runtime *runtime, const char *word, runtime_name_fn fn, void *ctx);

/*
 * The names closest to an exact pattern that matched nothing: at most @max canonical names
 * without parameters, best first, that the caller frees. Returns how many.
 */
size_t dotnet_near_misses(const struct runtime *runtime, const struct pattern *pattern,
			  char **names, size_t max);

#endif
