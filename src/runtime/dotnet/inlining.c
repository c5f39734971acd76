// SPDX-License-Identifier: GPL-2.0-or-later
/* Which bodies a method was inlined into, for method_notes.c. */
#include "runtime/dotnet/inlining.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/dotnet/definitions.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/pinvoke.h"
#include "base/error.h"
#include "method/method_name.h"

enum { ATTRIBUTES_MAX = 64 };

static const char non_versionable[] = "NonVersionableAttribute";

/* Where a table lists the inliners of a method. */
struct entry {
	uint32_t image;
	uint32_t table;
	uint32_t offset;
	uint32_t next; /* of the same method, entry + 1 */
};

/* What there is of the methods that one image defines. */
struct defined {
	const struct metadata *metadata;
	uint32_t *first; /* by row - 1: entry + 1, or 0; NULL if none was inlined */
	bool damaged;	 /* this image's own inlining info */
};

struct dotnet_inlining {
	const struct dotnet_images *images;
	struct definitions *definitions;
	struct defined *defined; /* by image */
	size_t image_count; /* as many as there were; images that come later have no part in it */
	struct entry *entries;
	size_t count;
	size_t capacity;
	uint32_t image; /* being listed */
	size_t problems;
	struct error first_problem;
};

/* The image that has @metadata, or count. @near is likely the one. */
static size_t image_of(const struct dotnet_inlining *inlining, const struct metadata *metadata,
		       size_t near)
{
	size_t count = inlining->image_count;

	if (near < count && inlining->defined[near].metadata == metadata)
		return near;
	for (size_t i = 0; metadata && i < count; i++) {
		if (inlining->defined[i].metadata == metadata)
			return i;
	}
	return count;
}

static int add_entry(struct dotnet_inlining *inlining, const struct entry *entry)
{
	return inlining->count < UINT32_MAX / 2 && vector_add(&inlining->entries, &inlining->count,
							      &inlining->capacity, *entry) ?
		       0 :
		       -ENOMEM;
}

/* Has it a MethodDef in one of the images? A reference is resolved. */
static bool is_defined(const struct dotnet_inlining *inlining, struct r2r_method *method)
{
	if (!method->metadata)
		return false;
	return !method->member_ref_rid || definitions_find(inlining->definitions, method);
}

static int note_inlinee(const struct r2r_inlinee *inlinee, void *ctx)
{
	struct dotnet_inlining *inlining = ctx;
	struct r2r_method method = inlinee->method;
	struct entry entry = {
		.image = inlining->image,
		.table = inlinee->table,
		.offset = inlinee->offset,
	};
	struct defined *defined;
	uint32_t rows;
	size_t image;

	if (!is_defined(inlining, &method))
		return 0;
	image = image_of(inlining, method.metadata, inlining->image);
	rows = metadata_rows(method.metadata, TABLE_METHOD_DEF);
	if (image == inlining->image_count || method.method_rid > rows)
		return 0;
	defined = &inlining->defined[image];
	if (!defined->first)
		defined->first = calloc(rows, sizeof(*defined->first));
	if (!defined->first)
		return -ENOMEM;
	entry.next = defined->first[method.method_rid - 1];
	if (add_entry(inlining, &entry))
		return -ENOMEM;
	defined->first[method.method_rid - 1] = (uint32_t)inlining->count;
	return 0;
}

static void note_problem(struct dotnet_inlining *inlining, uint32_t image)
{
	if (inlining->defined[image].damaged)
		return;
	inlining->defined[image].damaged = true;
	if (inlining->problems++ == 0)
		error_fill(
			&inlining->first_problem,
			"the inlining info of %s cannot be read: probe callers of a method of it whose count is low",
			inlining->images->images[image]->name);
}

static int list_image(struct dotnet_inlining *inlining, uint32_t image)
{
	const struct r2r *r2r = inlining->images->images[image]->r2r;
	int result;

	if (!r2r)
		return 0;
	inlining->image = image;
	result = r2r_each_inlinee(r2r, note_inlinee, inlining, NULL);
	if (result != -EBADMSG)
		return result;
	note_problem(inlining, image);
	return 0;
}

static int list_all(struct dotnet_inlining *inlining)
{
	const struct dotnet_images *images = inlining->images;
	int result = 0;

	inlining->definitions = definitions_create(images);
	inlining->defined = calloc(images->count + 1, sizeof(*inlining->defined));
	if (!inlining->definitions || !inlining->defined)
		return -ENOMEM;
	inlining->image_count = images->count;
	for (size_t i = 0; i < images->count; i++)
		inlining->defined[i].metadata = images->images[i]->metadata;
	for (uint32_t i = 0; i < images->count && result == 0; i++)
		result = list_image(inlining, i);
	return result;
}

int dotnet_inlining_create(struct dotnet_inlining **created, const struct dotnet_images *images,
			   struct error *err)
{
	struct dotnet_inlining *inlining = calloc(1, sizeof(*inlining));
	int result = -ENOMEM;

	*created = NULL;
	if (inlining) {
		inlining->images = images;
		result = list_all(inlining);
	}
	if (result) {
		dotnet_inlining_destroy(inlining);
		return error_set(err, -ENOMEM, "no memory for what was inlined");
	}
	*created = inlining;
	return 0;
}

void dotnet_inlining_destroy(struct dotnet_inlining *inlining)
{
	if (!inlining)
		return;
	for (size_t i = 0; inlining->defined && i < inlining->image_count; i++)
		free(inlining->defined[i].first);
	free(inlining->defined);
	free(inlining->entries);
	definitions_destroy(inlining->definitions);
	free(inlining);
}

size_t dotnet_inlining_problems(const struct dotnet_inlining *inlining, const struct error **first)
{
	*first = &inlining->first_problem;
	return inlining->problems;
}

/* Finding ------------------------------------------------------------------------------ */

struct collecting {
	struct dotnet_inliners *to;
	const struct dotnet_inlining *inlining;
};

static int collect(const struct r2r_method *inliner, void *ctx)
{
	struct collecting *collecting = ctx;
	struct dotnet_inliners *to = collecting->to;
	struct r2r_method method = *inliner;

	if (!is_defined(collecting->inlining, &method))
		return 0;
	return vector_add(&to->methods, &to->count, &to->capacity, method) ? 0 : -ENOMEM;
}

static int by_image_and_row(const void *left, const void *right, void *ctx)
{
	const struct r2r_method *a = left, *b = right;
	const struct dotnet_inlining *inlining = ctx;

	if (a->metadata != b->metadata)
		return image_of(inlining, a->metadata, 0) < image_of(inlining, b->metadata, 0) ?
			       -1 :
			       1;
	return a->method_rid < b->method_rid ? -1 : a->method_rid > b->method_rid;
}

/* Instantiations of one method that were compiled into two images are one. */
static void drop_twins(struct dotnet_inliners *inliners)
{
	size_t kept = 0;

	for (size_t i = 0; i < inliners->count; i++) {
		const struct r2r_method *last = kept ? &inliners->methods[kept - 1] : NULL;

		if (!last || last->metadata != inliners->methods[i].metadata ||
		    last->method_rid != inliners->methods[i].method_rid)
			inliners->methods[kept++] = inliners->methods[i];
	}
	inliners->count = kept;
}

/* The compiler may inline such a method anywhere, and does not say where it did. */
static bool is_non_versionable(const struct metadata *metadata, uint32_t method_rid)
{
	struct metadata_attribute attribute;

	for (uint32_t i = 0; i < ATTRIBUTES_MAX; i++) {
		if (!metadata_method_attribute(metadata, method_rid, i, &attribute))
			return false;
		if (strcmp(attribute.type, non_versionable) == 0)
			return true;
	}
	return false;
}

static bool is_known(const struct dotnet_inlining *inlining, size_t image, uint32_t method_rid)
{
	const struct dotnet_images *images = inlining->images;
	uint32_t component;
	const struct dotnet_image *code =
		dotnet_images_code_of(images, images->images[image], &component);

	if (is_non_versionable(images->images[image]->metadata, method_rid) ||
	    pinvoke_may_be_inlined(images->images[image]->metadata, method_rid))
		return false;
	if (!code)
		return true; /* nor is there code that it could have been inlined into */
	for (size_t i = 0; i < inlining->image_count; i++) {
		if (images->images[i] == code && inlining->defined[i].damaged)
			return false;
	}
	return r2r_has_inlining(code->r2r);
}

/* The inliners that one table lists. What is damaged is left out, and known to be. */
static int collect_entry(struct dotnet_inliners *inliners, struct dotnet_inlining *inlining,
			 const struct entry *entry)
{
	struct collecting collecting = { inliners, inlining };
	const struct r2r *r2r = inlining->images->images[entry->image]->r2r;
	struct r2r_inlinee inlinee;
	int result = -EBADMSG;

	if (r2r_inlinee_read(&inlinee, r2r, entry->table, entry->offset))
		result = r2r_each_inliner(&inlinee, collect, &collecting);
	if (result != -EBADMSG)
		return result;
	note_problem(inlining, entry->image);
	return 0;
}

int dotnet_inliners_find(struct dotnet_inliners *inliners, struct dotnet_inlining *inlining,
			 const struct r2r_method *method, struct error *err)
{
	struct r2r_method defined = *method;
	uint32_t next;
	size_t image;

	*inliners = (struct dotnet_inliners){ 0 };
	if (!is_defined(inlining, &defined))
		return 0;
	image = image_of(inlining, defined.metadata, 0);
	if (image == inlining->image_count || defined.method_rid == 0 ||
	    defined.method_rid > metadata_rows(defined.metadata, TABLE_METHOD_DEF))
		return 0;
	next = inlining->defined[image].first ?
		       inlining->defined[image].first[defined.method_rid - 1] :
		       0;
	while (next) {
		const struct entry *entry = &inlining->entries[next - 1];

		if (collect_entry(inliners, inlining, entry)) {
			dotnet_inliners_deinit(inliners);
			return error_set(err, -ENOMEM, "no memory for what has inlined a method");
		}
		next = entry->next;
	}
	if (inliners->count > 1)
		qsort_r(inliners->methods, inliners->count, sizeof(*inliners->methods),
			by_image_and_row, inlining);
	drop_twins(inliners);
	return is_known(inlining, image, defined.method_rid);
}

void dotnet_inliners_deinit(struct dotnet_inliners *inliners)
{
	free(inliners->methods);
	*inliners = (struct dotnet_inliners){ 0 };
}

void dotnet_method_spell(const struct r2r_method *method, struct text *out)
{
	struct method_name name = { 0 };

	r2r_method_name(method, &name);
	method_name_spell(&name, out);
	method_name_deinit(&name);
}
