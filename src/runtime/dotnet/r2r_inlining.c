// SPDX-License-Identifier: GPL-2.0-or-later
/* What an image says of inlining, for inlining.c. */
#include "runtime/dotnet/r2r_inlining.h"

#include <errno.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"
#include "base/error.h"

enum {
	/* Tables of an image: the one for all modules, then that of each component. */
	TABLE_CROSS_MODULE,
	TABLE_COMPONENTS,

	/* Below an inlinee's number in the cross-module table. */
	INLINEE_IS_IMPORT = 1,
	INLINEE_HAS_IMPORTS = 2,
	INLINEE_SHIFT = 2,

	/* Below all others', if modules may differ. */
	NUMBER_HAS_MODULE = 1,
	NUMBER_SHIFT = 1,

	MAX_RID = 0x00ffffff,
};

static struct pe_directory table_place(const struct r2r *r2r, uint32_t table)
{
	if (table == TABLE_CROSS_MODULE)
		return r2r_header_section(&r2r->header, R2R_SECTION_CROSS_MODULE_INLINING);
	return r2r->components[table - TABLE_COMPONENTS].inlining;
}

static struct cursor table_cursor(const struct r2r *r2r, uint32_t table)
{
	struct pe_directory place = table_place(r2r, table);

	return cursor_over(pe_bytes(r2r->pe, place.rva, place.size));
}

bool r2r_has_inlining(const struct r2r *r2r)
{
	for (uint32_t table = 0; table < TABLE_COMPONENTS + r2r->component_count; table++) {
		if (table_place(r2r, table).size > 0)
			return true;
	}
	return false;
}

/* The next of an entry's numbers; there must be one. */
static uint32_t next_number(struct r2r_inlinee *inlinee)
{
	if (inlinee->number_count == 0)
		inlinee->numbers.bad = true;
	else
		inlinee->number_count--;
	return native_unsigned(&inlinee->numbers);
}

static const struct metadata *next_module(struct r2r_inlinee *inlinee)
{
	uint32_t component;

	return r2r_module(inlinee->r2r, next_number(inlinee), &component);
}

static void set_method(struct r2r_method *method, const struct metadata *metadata, uint32_t rid)
{
	*method = (struct r2r_method){ .metadata = metadata, .method_rid = rid };
}

/* Is it a row that there is, as far as that is known? */
static bool is_method(const struct r2r_method *method)
{
	uint32_t rid = method->member_ref_rid ? method->member_ref_rid : method->method_rid;
	enum metadata_table table = method->member_ref_rid ? TABLE_MEMBER_REF : TABLE_METHOD_DEF;

	return rid > 0 && rid <= (method->metadata ? metadata_rows(method->metadata, table) :
						     (uint32_t)MAX_RID);
}

static bool read_cross_module(struct r2r_inlinee *inlinee)
{
	const struct r2r *r2r = inlinee->r2r;
	uint32_t number = next_number(inlinee);

	inlinee->modules = (r2r->header.flags & R2R_FLAG_MULTI_MODULE) != 0;
	inlinee->imports = (number & INLINEE_HAS_IMPORTS) != 0;
	if (number & INLINEE_IS_IMPORT) {
		if (!r2r_import_method(r2r, number >> INLINEE_SHIFT, &inlinee->method))
			return false;
	} else if (inlinee->modules) {
		set_method(&inlinee->method, next_module(inlinee), number >> INLINEE_SHIFT);
	} else {
		set_method(&inlinee->method, inlinee->own, number >> INLINEE_SHIFT);
	}
	/* What is said of a module that is not the inlinee's stands with the inliner. */
	if (inlinee->modules)
		inlinee->own = inlinee->method.metadata;
	return true;
}

static bool read_component(struct r2r_inlinee *inlinee)
{
	uint32_t number = next_number(inlinee);

	inlinee->modules = true;
	set_method(&inlinee->method,
		   number & NUMBER_HAS_MODULE ? next_module(inlinee) : inlinee->own,
		   number >> NUMBER_SHIFT);
	return true;
}

/* The entry at @at, up to where the inliners begin. */
static bool read_entry(struct r2r_inlinee *inlinee, const struct r2r *r2r, uint32_t table,
		       struct cursor at)
{
	uint32_t component = table == TABLE_CROSS_MODULE ? 0 : table - TABLE_COMPONENTS;
	bool good;

	*inlinee = (struct r2r_inlinee){
		.r2r = r2r,
		.table = table,
		.offset = (uint32_t)cursor_offset(&at),
		.numbers = at,
		.own = r2r_metadata(r2r, component),
	};
	if (table == TABLE_CROSS_MODULE && r2r->composite)
		inlinee->own = NULL;
	inlinee->number_count = native_unsigned(&inlinee->numbers);
	/* Each takes a byte at least. */
	if (inlinee->number_count > cursor_left(&inlinee->numbers))
		return false;
	good = table == TABLE_CROSS_MODULE ? read_cross_module(inlinee) : read_component(inlinee);
	return good && cursor_ok(&inlinee->numbers) && is_method(&inlinee->method);
}

bool r2r_inlinee_read(struct r2r_inlinee *inlinee, const struct r2r *r2r, uint32_t table,
		      uint32_t offset)
{
	struct cursor whole;

	if (table >= TABLE_COMPONENTS + r2r->component_count)
		return false;
	whole = table_cursor(r2r, table);
	return read_entry(inlinee, r2r, table, cursor_at(&whole, offset));
}

static int damaged(const struct r2r *r2r, uint32_t table, struct error *err)
{
	const char *name = table == TABLE_CROSS_MODULE ?
				   NULL :
				   r2r_component_name(r2r, table - TABLE_COMPONENTS);

	return error_set(err, -EBADMSG, "its inlining info%s%s is damaged",
			 name && *name ? " for " : "", name ? name : "");
}

/*
 * Entries do not overlap, so all their numbers together are no more than the table's bytes:
 * reading each list once takes no more work than that.
 */
static int each_of_table(const struct r2r *r2r, uint32_t table,
			 int (*fn)(const struct r2r_inlinee *inlinee, void *ctx), void *ctx,
			 struct error *err)
{
	struct cursor whole = table_cursor(r2r, table);
	size_t numbers_left = cursor_left(&whole);
	struct native_hashtable hashtable;
	struct native_hashtable_walk walk;
	struct cursor element;
	int found;

	if (native_hashtable_init(&hashtable, whole, NULL) < 0)
		return damaged(r2r, table, err);
	native_hashtable_begin(&hashtable, &walk);
	while ((found = native_hashtable_next(&walk, &element)) > 0) {
		struct r2r_inlinee inlinee;
		int status;

		if (!read_entry(&inlinee, r2r, table, element) ||
		    inlinee.number_count > numbers_left)
			return damaged(r2r, table, err);
		numbers_left -= inlinee.number_count;
		status = fn(&inlinee, ctx);
		if (status != 0)
			return status;
	}
	return found < 0 ? damaged(r2r, table, err) : 0;
}

int r2r_each_inlinee(const struct r2r *r2r, int (*fn)(const struct r2r_inlinee *inlinee, void *ctx),
		     void *ctx, struct error *err)
{
	int first_problem = 0;

	for (uint32_t table = 0; table < TABLE_COMPONENTS + r2r->component_count; table++) {
		int status;

		if (table_place(r2r, table).size == 0)
			continue;
		status = each_of_table(r2r, table, fn, ctx, first_problem ? NULL : err);
		if (status != 0 && status != -EBADMSG)
			return status;
		if (first_problem == 0)
			first_problem = status;
	}
	return first_problem;
}

/* Inliners that are not in the image's version bubble, by the imports that check their IL. */
static int each_import(struct r2r_inlinee *rest,
		       int (*fn)(const struct r2r_method *inliner, void *ctx), void *ctx)
{
	uint32_t count = next_number(rest);

	for (uint32_t i = 0; i < count; i++) {
		struct r2r_method inliner;
		uint32_t import = next_number(rest);
		int status;

		if (!cursor_ok(&rest->numbers) || !r2r_import_method(rest->r2r, import, &inliner) ||
		    !is_method(&inliner))
			return -EBADMSG;
		status = fn(&inliner, ctx);
		if (status != 0)
			return status;
	}
	return cursor_ok(&rest->numbers) ? 0 : -EBADMSG;
}

int r2r_each_inliner(const struct r2r_inlinee *inlinee,
		     int (*fn)(const struct r2r_method *inliner, void *ctx), void *ctx)
{
	struct r2r_inlinee rest = *inlinee;
	uint64_t rid = 0;
	int status = rest.imports ? each_import(&rest, fn, ctx) : 0;

	while (status == 0 && rest.number_count > 0) {
		uint32_t number = next_number(&rest);
		const struct metadata *metadata = rest.own;
		struct r2r_method inliner;

		rid += rest.modules ? number >> NUMBER_SHIFT : number;
		if (rest.modules && number & NUMBER_HAS_MODULE)
			metadata = next_module(&rest);
		set_method(&inliner, metadata, rid > MAX_RID ? 0 : (uint32_t)rid);
		if (!cursor_ok(&rest.numbers) || !is_method(&inliner))
			return -EBADMSG;
		status = fn(&inliner, ctx);
	}
	return status;
}
