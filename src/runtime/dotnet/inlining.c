// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which bodies a method was inlined into, for records of sites and the log. What an image was
 * compiled from another assembly's IL it names by MemberRefs of its own: those are resolved by
 * name.
 */
#include "runtime/dotnet/inlining.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/vector.h"
#include "method/method_name.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/pinvoke.h"
#include "runtime/dotnet/type_index.h"
#include "runtime/runtime.h"

enum {
	ATTRIBUTES_MAX = 64,

	/* Types and methods looked at in all: many of one name would make it long work. */
	MAX_STEPS = 1 << 22,
};

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
	struct type_definitions types; /* of the images that there are when one is first needed */
	unsigned int steps;
	struct method_name wanted; /* of a reference; and of what may be its definition: */
	struct method_name name;
	struct defined *defined; /* by image */
	size_t image_count; /* as many as there were; images that come later have no part in it */
	struct entry *entries;
	size_t count;
	size_t capacity;
	uint32_t image;			  /* being listed */
	struct dotnet_inliners *inliners; /* being found */
	size_t problems;
	struct error first_problem;
};

/* Definitions -------------------------------------------------------------------------------- */

static bool same_text(const struct text *a, const struct text *b)
{
	return a->length == b->length && strcmp(text_chars(a), text_chars(b)) == 0;
}

/* The method of the type that is named as wanted, 0 if none is. */
static uint32_t find_method(struct dotnet_inlining *inlining, const struct type_definition *type)
{
	const char *wanted = text_chars(&inlining->wanted.name);
	uint32_t first, end;

	metadata_type_methods(type->metadata, type->rid, &first, &end);
	for (uint32_t rid = first; rid < end; rid++) {
		const struct r2r_method method = { type->metadata, rid, 0 };

		if (++inlining->steps > MAX_STEPS)
			return 0;
		if (strcmp(metadata_method_name(type->metadata, rid), wanted) != 0)
			continue;
		r2r_method_name(&method, &inlining->name);
		if (same_text(&inlining->name.type, &inlining->wanted.type) &&
		    same_text(&inlining->name.params, &inlining->wanted.params))
			return rid;
	}
	return 0;
}

/* The assembly or module that the reference names. */
static const char *module_of(const struct r2r_method *method)
{
	enum metadata_table table = TABLE_MODULE;
	uint32_t parent =
		metadata_member_ref_parent(method->metadata, method->member_ref_rid, &table);

	return table == TABLE_TYPE_REF ? metadata_type_ref_module(method->metadata, parent) : "";
}

/*
 * Put into @method what its MemberRef means. False if no image defines it. An assembly of the name
 * that the reference gives is preferred; it may as well be one that forwards the type. The first
 * call lists the types of all images.
 */
static bool find_definition(struct dotnet_inlining *inlining, struct r2r_method *method)
{
	const struct type_definitions *types = &inlining->types;
	const struct text *wanted = &inlining->wanted.type;
	const char *module = module_of(method);
	bool found = false;
	uint64_t hash;

	if (!types->images)
		type_definitions_list(&inlining->types, inlining->images);
	r2r_method_name(method, &inlining->wanted);
	for (size_t i = type_definitions_first(types, text_chars(wanted), wanted->length, &hash);
	     i < types->count && types->list[i].hash == hash && ++inlining->steps <= MAX_STEPS;
	     i++) {
		const struct type_definition *type = &types->list[i];
		bool named = strcmp(metadata_assembly_name(type->metadata), module) == 0;
		uint32_t rid = found && !named ? 0 : find_method(inlining, type);

		if (rid == 0)
			continue;
		*method = (struct r2r_method){ type->metadata, rid, 0 };
		found = true;
		if (named)
			break;
	}
	return found;
}

/* Listing ------------------------------------------------------------------------------------ */

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

/* Has it a MethodDef in one of the images? A reference is resolved. */
static bool is_defined(struct dotnet_inlining *inlining, struct r2r_method *method)
{
	return method->metadata && (!method->member_ref_rid || find_definition(inlining, method));
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
	if (inlining->count >= UINT32_MAX / 2 ||
	    !vector_add(&inlining->entries, &inlining->count, &inlining->capacity, entry))
		return -ENOMEM;
	defined->first[method.method_rid - 1] = (uint32_t)inlining->count;
	return 0;
}

/* @result of reading inlining info of @image; damage is noted, and is no reason to end. */
static int note_damage(struct dotnet_inlining *inlining, uint32_t image, int result)
{
	struct defined *defined = &inlining->defined[image];

	if (result != -EBADMSG)
		return result;
	if (!defined->damaged && inlining->problems++ == 0)
		error_fill(
			&inlining->first_problem,
			"the inlining info of %s cannot be read: probe callers of a method of it whose count is low",
			inlining->images->images[image]->name);
	defined->damaged = true;
	return 0;
}

static int list_image(struct dotnet_inlining *inlining, uint32_t image)
{
	const struct r2r *r2r = inlining->images->images[image]->r2r;

	if (!r2r)
		return 0;
	inlining->image = image;
	return note_damage(inlining, image, r2r_each_inlinee(r2r, note_inlinee, inlining, NULL));
}

static int list_all(struct dotnet_inlining *inlining, const struct dotnet_images *images)
{
	int result = 0;

	inlining->images = images;
	inlining->defined = calloc(images->count + 1, sizeof(*inlining->defined));
	if (!inlining->defined)
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

	*created = NULL;
	if (!inlining || list_all(inlining, images)) {
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
	type_definitions_deinit(&inlining->types);
	method_name_deinit(&inlining->wanted);
	method_name_deinit(&inlining->name);
	free(inlining);
}

size_t dotnet_inlining_problems(const struct dotnet_inlining *inlining, const struct error **first)
{
	*first = &inlining->first_problem;
	return inlining->problems;
}

/* Finding ------------------------------------------------------------------------------ */

static int collect(const struct r2r_method *inliner, void *ctx)
{
	struct dotnet_inlining *inlining = ctx;
	struct dotnet_inliners *to = inlining->inliners;
	struct r2r_method method = *inliner;

	if (!is_defined(inlining, &method))
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

	for (uint32_t i = 0;
	     i < ATTRIBUTES_MAX && metadata_method_attribute(metadata, method_rid, i, &attribute);
	     i++) {
		if (strcmp(attribute.type, "NonVersionableAttribute") == 0)
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
static int collect_entry(struct dotnet_inlining *inlining, const struct entry *entry)
{
	const struct r2r *r2r = inlining->images->images[entry->image]->r2r;
	struct r2r_inlinee inlinee;
	int result = -EBADMSG;

	if (r2r_inlinee_read(&inlinee, r2r, entry->table, entry->offset))
		result = r2r_each_inliner(&inlinee, collect, inlining);
	return note_damage(inlining, entry->image, result);
}

int dotnet_inliners_find(struct dotnet_inliners *inliners, struct dotnet_inlining *inlining,
			 const struct r2r_method *method)
{
	struct r2r_method defined = *method;
	uint32_t next;
	size_t image;

	*inliners = (struct dotnet_inliners){ 0 };
	inlining->inliners = inliners;
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

		if (collect_entry(inlining, entry)) {
			dotnet_inliners_deinit(inliners);
			return -ENOMEM;
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
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	r2r_method_name(method, &name);
	method_name_spell(&name, out);
}

/* malloc'd; NULL for want of memory. */
static char *spell(const struct r2r_method *method)
{
	struct text name = { 0 };

	dotnet_method_spell(method, &name);
	/* Something, so that there is memory to hand on. */
	text_add(&name, "");
	if (text_ok(&name))
		return name.chars;
	text_deinit(&name);
	return NULL;
}

static bool spell_first(struct method_inliners *inliners, const struct dotnet_inliners *found,
			size_t named)
{
	size_t count = found->count < named ? found->count : named;
	bool room;

	inliners->count = found->count;
	inliners->names = calloc(count + 1, sizeof(*inliners->names));
	room = inliners->names != NULL;
	for (size_t i = 0; room && i < count; i++) {
		inliners->names[i] = spell(&found->methods[i]);
		room = inliners->names[i] != NULL;
	}
	return room;
}

int dotnet_method_inliners(struct method_inliners *inliners, struct dotnet_inlining *inlining,
			   const struct dotnet_images *images, const struct method_id *id,
			   size_t named)
{
	_cleanup_(dotnet_inliners_deinit) struct dotnet_inliners found = { 0 };
	struct r2r_method method;
	int known;

	*inliners = (struct method_inliners){ 0 };
	if (!inlining || !dotnet_method_find(images, id, &method))
		return 0;
	known = dotnet_inliners_find(&found, inlining, &method);
	if (known < 0)
		return known;
	inliners->whole = known > 0;
	inliners->method = spell(&method);
	return inliners->method && spell_first(inliners, &found, named) ? 0 : -ENOMEM;
}
