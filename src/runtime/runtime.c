// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Between session/ and the runtimes: a question goes to each of them in turn, or to the one whose
 * method it is about.
 */
#include "runtime/runtime.h"

#include <stdlib.h>

#include "runtime/follow.h"
#include "runtime/sealed.h"
#include "value/value.h"

/*
 * The first answer but 0, false or NULL of the runtimes that offer @op, in their order: of those
 * that are asked whether something is so, of those that do something, where that fails.
 */
#define ask_each(runtimes, op, ...)                                                  \
	({                                                                           \
		__typeof__((runtimes)->list[0]->ops->op((runtimes)->list[0],         \
							##__VA_ARGS__)) answer_ = 0; \
		for (size_t i_ = 0; i_ < (runtimes)->count && !answer_; i_++) {      \
			struct runtime *asked_ = (runtimes)->list[i_];               \
			if (asked_->ops->op)                                         \
				answer_ = asked_->ops->op(asked_, ##__VA_ARGS__);    \
		}                                                                    \
		answer_;                                                             \
	})

/* What runtime @id answers; @otherwise if it is not among them, or does not offer @op. */
#define ask_one(runtimes, id, otherwise, op, ...)                                         \
	({                                                                                \
		struct runtime *one_ = runtimes_get((runtimes), (id));                    \
		one_ && one_->ops->op ? one_->ops->op(one_, ##__VA_ARGS__) : (otherwise); \
	})

/* Tell all that want to hear it. */
#define tell_each(runtimes, op, ...)                          \
	for (size_t i_ = 0; i_ < (runtimes)->count; i_++) {   \
		struct runtime *told_ = (runtimes)->list[i_]; \
		if (told_->ops->op)                           \
			told_->ops->op(told_, ##__VA_ARGS__); \
	}

int runtimes_create(struct runtimes *runtimes, const struct runtime_ops *const offered[],
		    struct target *target, struct error *err)
{
	int result = 0;

	*runtimes = (struct runtimes){ 0 };
	for (; *offered && runtimes->count < RUNTIMES_MAX && result == 0; offered++) {
		result =
			(*offered)->create(&runtimes->list[runtimes->count], target, runtimes, err);
		runtimes->count += result == 0;
	}
	return result;
}

void runtimes_destroy(struct runtimes *runtimes)
{
	while (runtimes->count) {
		struct runtime *runtime = runtimes->list[--runtimes->count];

		runtime->ops->destroy(runtime);
	}
}

struct runtime *runtimes_get(const struct runtimes *runtimes, enum runtime_id id)
{
	for (size_t i = 0; i < runtimes->count; i++) {
		if (runtimes->list[i]->ops->id == id)
			return runtimes->list[i];
	}
	return NULL;
}

int runtimes_read(const struct runtimes *runtimes, struct error *err)
{
	return ask_each(runtimes, read, err);
}

static bool is_present(const struct runtime *runtime)
{
	return runtime->ops->is_present && runtime->ops->is_present(runtime);
}

bool runtimes_are_present(const struct runtimes *runtimes)
{
	return ask_each(runtimes, is_present);
}

const struct runtime *runtimes_followed(const struct runtimes *runtimes)
{
	const struct runtime *first = NULL;

	for (size_t i = 0; i < runtimes->count; i++) {
		const struct runtime *runtime = runtimes->list[i];

		if (!runtime->ops->follow)
			continue;
		if (is_present(runtime))
			return runtime;
		first = first ? first : runtime;
	}
	return first;
}

int runtimes_read_sealed(const struct runtimes *runtimes, struct sealed_pages *pages,
			 struct error *err)
{
	*pages = (struct sealed_pages){ 0 };
	return ask_each(runtimes, read_sealed, pages, err);
}

bool runtimes_have_come(const struct runtimes *runtimes)
{
	return ask_each(runtimes, has_come);
}

struct runtime_reach runtimes_reach(const struct runtimes *runtimes)
{
	struct runtime_reach sum = { 0 };

	for (size_t i = 0; i < runtimes->count; i++) {
		const struct runtime *runtime = runtimes->list[i];
		struct runtime_reach reach = { 0 };

		if (runtime->ops->reach)
			reach = runtime->ops->reach(runtime);
		sum.images += reach.images;
		sum.compiled |= reach.compiled;
		sum.unreadable += reach.unreadable;
		sum.problems += reach.problems;
	}
	return sum;
}

void runtimes_log(const struct runtimes *runtimes, enum runtime_topic topic,
		  const struct runtime_log *log)
{
	tell_each(runtimes, log, topic, log);
}

int runtimes_use_maps(const struct runtimes *runtimes, const char *path,
		      const struct runtime_log *log, struct error *err)
{
	return ask_each(runtimes, use_maps, path, log, err);
}

int runtimes_read_inliners(const struct runtimes *runtimes, struct error *err)
{
	return ask_each(runtimes, read_inliners, err);
}

int runtimes_refresh(const struct runtimes *runtimes, bool mapped, struct error *err)
{
	int sum = 0;

	for (size_t i = 0; i < runtimes->count && sum >= 0; i++) {
		struct runtime *runtime = runtimes->list[i];
		int result =
			runtime->ops->refresh ? runtime->ops->refresh(runtime, mapped, err) : 0;

		sum = result < 0 ? result : sum | result;
	}
	return sum;
}

int runtimes_reread(const struct runtimes *runtimes, struct error *err)
{
	return ask_each(runtimes, reread, err);
}

bool runtimes_have_image(const struct runtimes *runtimes, const struct pattern *pattern)
{
	return ask_each(runtimes, has_image, pattern);
}

bool runtimes_have_file(const struct runtimes *runtimes, const struct pattern *pattern)
{
	return ask_each(runtimes, has_file, pattern);
}

bool runtimes_have_host(const struct runtimes *runtimes, const struct target_file *file)
{
	return ask_each(runtimes, is_host, file);
}

int runtimes_find(const struct runtimes *runtimes, const struct body_query *query, body_fn fn,
		  void *ctx, struct error *err)
{
	return ask_each(runtimes, find, query, fn, ctx, err);
}

int runtimes_names(const struct runtimes *runtimes, const char *word, runtime_name_fn fn, void *ctx)
{
	return ask_each(runtimes, names, word, fn, ctx);
}

size_t runtimes_near_misses(const struct runtimes *runtimes, const struct pattern *pattern,
			    char **names, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < runtimes->count && count < max; i++) {
		const struct runtime *runtime = runtimes->list[i];

		if (runtime->ops->near_misses)
			count += runtime->ops->near_misses(runtime, pattern, names + count,
							   max - count);
	}
	return count;
}

void runtimes_moves(const struct runtimes *runtimes, code_place_fn fn, void *ctx)
{
	tell_each(runtimes, moves, fn, ctx);
}

const char *runtimes_host(const struct runtimes *runtimes)
{
	return ask_each(runtimes, host);
}

void runtimes_watch_moves(const struct runtimes *runtimes, const struct moves_now *moves)
{
	tell_each(runtimes, watch_moves, moves);
}

const char *runtimes_throws(const struct runtimes *runtimes, enum runtime_id id, code_place_fn fn,
			    void *ctx)
{
	return ask_one(runtimes, id, "its runtime does not tell", throws, fn, ctx);
}

const char *runtimes_collects(const struct runtimes *runtimes, enum runtime_id id, code_place_fn fn,
			      void *ctx)
{
	return ask_one(runtimes, id, "its runtime does not tell", collects, fn, ctx);
}

bool runtimes_fault_path(const struct runtimes *runtimes, enum runtime_id id,
			 uint64_t at[ASYNC_HOPS])
{
	return ask_one(runtimes, id, false, fault_path, at);
}

int runtimes_recheck_begin(const struct runtimes *runtimes, struct error *err)
{
	return ask_each(runtimes, recheck_begin, err);
}

bool runtimes_is_unchanged(const struct runtimes *runtimes, const struct method_id *id,
			   struct address start, const char *method, bool stub)
{
	return ask_one(runtimes, id->runtime, true, is_unchanged, start, method, stub);
}

bool runtimes_have_method(const struct runtimes *runtimes, const struct method_id *id,
			  uint64_t handle)
{
	return ask_one(runtimes, id->runtime, true, has_method, handle);
}

int runtimes_inliners(const struct runtimes *runtimes, struct method_inliners *inliners,
		      const struct method_id *id, size_t named)
{
	*inliners = (struct method_inliners){ 0 };
	return ask_one(runtimes, id->runtime, 0, inliners, inliners, id, named);
}

bool runtimes_native_function(const struct runtimes *runtimes, const struct method_id *id,
			      struct text *out)
{
	return ask_one(runtimes, id->runtime, false, native_function, id, out);
}

int runtimes_signature(const struct runtimes *runtimes, const struct method_id *id,
		       uint64_t method_desc, const char *name, struct value_types *types,
		       struct value_signature *signature)
{
	*signature = (struct value_signature){ .why = "its parameters are not known here" };
	return ask_one(runtimes, id->runtime, 0, signature, id, method_desc, name, types,
		       signature);
}

const struct value_type *runtimes_object_type(const struct runtimes *runtimes, enum runtime_id id,
					      uint64_t handle, struct value_types *types)
{
	return ask_one(runtimes, id, NULL, object_type, handle, types);
}

bool runtimes_base_type(const struct runtimes *runtimes, enum runtime_id id, uint64_t handle,
			uint64_t *base)
{
	return ask_one(runtimes, id, false, base_type, handle, base);
}

bool runtimes_context_name(const struct runtimes *runtimes, enum runtime_id id, uint64_t handle,
			   bool is_method, struct text *out)
{
	return ask_one(runtimes, id, false, context_name, handle, is_method, out);
}

bool runtimes_have_function(const struct runtimes *runtimes, const struct target_file *file,
			    const char *name)
{
	return ask_each(runtimes, has_function, file, name);
}

const char *runtimes_map_name(const struct runtimes *runtimes, size_t map)
{
	const char *name = ask_each(runtimes, map_name, map);

	return name ? name : "?";
}

void method_inliners_deinit(struct method_inliners *inliners)
{
	for (size_t i = 0; inliners->names && inliners->names[i]; i++)
		free(inliners->names[i]);
	free(inliners->names);
	free(inliners->method);
	*inliners = (struct method_inliners){ 0 };
}

void runtime_follow_end(struct runtime_follow *follow)
{
	if (follow->images)
		follow->images->ops->destroy(follow->images);
	free(follow->modules);
	*follow = (struct runtime_follow){ 0 };
}
