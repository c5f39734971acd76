// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an image says of inlining, for inlining.c. An image that holds code made of another version
 * bubble's IL has an import for each such method, which checks that IL; its inlining info names
 * those methods by it.
 *
 * Source of the format of imports: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md,
 * "IL Body signatures", and tools/aot/ILCompiler.ReadyToRun ILBodyFixupSignature.cs.
 */
#include <stdlib.h>

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

	SECTION_BYTES = 20, /* of imports */
	FLAGS_AND_TYPE_BYTES = 3,

	FIXUP_CHECK_IL_BODY = 0x35,
	FIXUP_VERIFY_IL_BODY = 0x36,
	FIXUP_MODULE_OVERRIDE = 0x80,

	TYPES_PER_BYTE = 2,
};

/* Imports of IL ------------------------------------------------------------------------------ */

static bool is_il_body(uint32_t fixup)
{
	uint32_t kind = fixup & ~(uint32_t)FIXUP_MODULE_OVERRIDE;

	return kind == FIXUP_CHECK_IL_BODY || kind == FIXUP_VERIFY_IL_BODY;
}

/*
 * How many imports of IL there are; @signatures is where the RVAs of their signatures stand.
 * They have a section to themselves, of a type of its own, but .NET 10 gives it none.
 */
static uint32_t find_il_bodies(const struct r2r *r2r, struct cursor *signatures)
{
	struct cursor c = cursor_over(r2r_section(r2r, R2R_SECTION_IMPORTS));

	while (cursor_left(&c) >= SECTION_BYTES) {
		uint32_t size, entry_bytes, count;
		struct cursor first;

		cursor_skip(&c, sizeof(uint32_t)); /* where the runtime puts what it has checked */
		size = cursor_u32(&c);
		cursor_skip(&c, FLAGS_AND_TYPE_BYTES);
		entry_bytes = cursor_u8(&c);
		*signatures = pe_cursor(r2r->pe, (struct rva){ cursor_u32(&c) });
		cursor_skip(&c, sizeof(uint32_t)); /* auxiliary data */
		first = *signatures;
		first = pe_cursor(r2r->pe, (struct rva){ cursor_u32(&first) });
		if (entry_bytes == 0 || !is_il_body(cursor_u8(&first)))
			continue;
		count = (uint32_t)(cursor_left(signatures) / sizeof(uint32_t));
		return size / entry_bytes < count ? size / entry_bytes : count;
	}
	return 0;
}

/* Past the IL and the types that it mentions, to the method whose it is. Returns how many types. */
static uint32_t read_import(const struct r2r *r2r, struct cursor at, struct r2r_method *method)
{
	struct r2r_instance instance;
	struct signature s;
	uint32_t fixup = cursor_u8(&at);
	uint32_t module = fixup & FIXUP_MODULE_OVERRIDE ? metadata_compressed(&at) : 0;
	uint32_t component, count, types = 1;

	if (!is_il_body(fixup))
		return types;
	cursor_skip(&at, metadata_compressed(&at));
	count = metadata_compressed(&at);
	r2r_signature_init(&s, r2r, at, r2r_module(r2r, module, &component));
	types += s.types_left;
	for (uint32_t i = 0; i < count && !s.damaged; i++)
		signature_skip_type(&s);
	types -= s.types_left;
	if (s.damaged || !r2r_instance_read_method(&instance, r2r, module, &s.at))
		return types;
	*method = (struct r2r_method){
		.metadata = instance.metadata,
		.method_rid = instance.method_rid,
		.member_ref_rid = instance.member_ref_rid,
	};
	return types + instance.types;
}

/* Once: signatures may be long, and entries that share one could make that anyone's work. */
static void read_imports(const struct r2r *r2r)
{
	struct r2r_imports *imports = &r2r->learnt->imports;
	uint64_t types_left = (uint64_t)r2r->pe->file.size * TYPES_PER_BYTE;
	struct cursor signatures;
	uint32_t count = find_il_bodies(r2r, &signatures);

	imports->read = true;
	if (count > 0)
		imports->methods = calloc(count, sizeof(*imports->methods));
	if (!imports->methods)
		return;
	imports->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct rva rva = { cursor_u32(&signatures) };
		uint32_t types = read_import(r2r, pe_cursor(r2r->pe, rva), &imports->methods[i]);

		if (types > types_left)
			return;
		types_left -= types;
	}
}

/* The method whose IL import @index checks; without rows if it is damaged. False if none does. */
static bool import_method(const struct r2r *r2r, uint32_t index, struct r2r_method *method)
{
	const struct r2r_imports *imports = &r2r->learnt->imports;

	if (!imports->read)
		read_imports(r2r);
	if (index >= imports->count)
		return false;
	*method = imports->methods[index];
	return true;
}

/* Tables ------------------------------------------------------------------------------------- */

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

/* Is it a row that there is, as far as that is known? */
static bool is_method(const struct r2r_method *method)
{
	uint32_t rid = method->member_ref_rid ? method->member_ref_rid : method->method_rid;
	enum metadata_table table = method->member_ref_rid ? TABLE_MEMBER_REF : TABLE_METHOD_DEF;

	return rid > 0 && rid <= (method->metadata ? metadata_rows(method->metadata, table) :
						     (uint32_t)TOKEN_ROW_MASK);
}

static bool read_cross_module(struct r2r_inlinee *inlinee)
{
	const struct r2r *r2r = inlinee->r2r;
	uint32_t number = next_number(inlinee);

	inlinee->modules = (r2r->header.flags & R2R_FLAG_MULTI_MODULE) != 0;
	inlinee->imports = (number & INLINEE_HAS_IMPORTS) != 0;
	if (number & INLINEE_IS_IMPORT) {
		if (!import_method(r2r, number >> INLINEE_SHIFT, &inlinee->method))
			return false;
	} else if (inlinee->modules) {
		inlinee->method =
			(struct r2r_method){ next_module(inlinee), number >> INLINEE_SHIFT, 0 };
	} else {
		inlinee->method = (struct r2r_method){ inlinee->own, number >> INLINEE_SHIFT, 0 };
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
	inlinee->method = (struct r2r_method){
		.metadata = number & NUMBER_HAS_MODULE ? next_module(inlinee) : inlinee->own,
		.method_rid = number >> NUMBER_SHIFT,
	};
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
static int each_of_table(const struct r2r *r2r, uint32_t table, r2r_inlinee_fn fn, void *ctx,
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

int r2r_each_inlinee(const struct r2r *r2r, r2r_inlinee_fn fn, void *ctx, struct error *err)
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
static int each_import(struct r2r_inlinee *rest, r2r_inliner_fn fn, void *ctx)
{
	uint32_t count = next_number(rest);

	for (uint32_t i = 0; i < count; i++) {
		struct r2r_method inliner;
		uint32_t import = next_number(rest);
		int status;

		if (!cursor_ok(&rest->numbers) || !import_method(rest->r2r, import, &inliner) ||
		    !is_method(&inliner))
			return -EBADMSG;
		status = fn(&inliner, ctx);
		if (status != 0)
			return status;
	}
	return cursor_ok(&rest->numbers) ? 0 : -EBADMSG;
}

int r2r_each_inliner(const struct r2r_inlinee *inlinee, r2r_inliner_fn fn, void *ctx)
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
		inliner = (struct r2r_method){ metadata, rid > TOKEN_ROW_MASK ? 0 : (uint32_t)rid,
					       0 };
		if (!cursor_ok(&rest.numbers) || !is_method(&inliner))
			return -EBADMSG;
		status = fn(&inliner, ctx);
	}
	return status;
}
