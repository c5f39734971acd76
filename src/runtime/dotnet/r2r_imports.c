// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The imports that check a method's IL: an image that holds code made of another version
 * bubble's IL has one for each such method, and its inlining info names those by it.
 *
 * Source of the format: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md, "IL Body
 * signatures", and tools/aot/ILCompiler.ReadyToRun ILBodyFixupSignature.cs.
 */
#include <stdlib.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"

enum {
	SECTION_BYTES = 20,
	FLAGS_AND_TYPE_BYTES = 3,

	FIXUP_CHECK_IL_BODY = 0x35,
	FIXUP_VERIFY_IL_BODY = 0x36,
	FIXUP_MODULE_OVERRIDE = 0x80,

	TYPES_PER_BYTE = 2,
};

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
	struct pe_directory place = r2r_header_section(&r2r->header, R2R_SECTION_IMPORTS);
	struct cursor c = cursor_over(pe_bytes(r2r->pe, place.rva, place.size));

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

/* Past the IL and the types that it mentions, to the method whose it is. */
static void read_import(const struct r2r *r2r, struct cursor at, struct r2r_method *method,
			uint32_t *types)
{
	struct r2r_instance instance;
	struct signature s;
	uint32_t fixup = cursor_u8(&at);
	uint32_t module = fixup & FIXUP_MODULE_OVERRIDE ? metadata_compressed(&at) : 0;
	uint32_t component, count, types_before;

	*types = 1;
	if (!is_il_body(fixup))
		return;
	cursor_skip(&at, metadata_compressed(&at));
	count = metadata_compressed(&at);
	r2r_signature_init(&s, r2r, at, r2r_module(r2r, module, &component));
	types_before = s.types_left;
	for (uint32_t i = 0; i < count && !s.damaged; i++)
		signature_skip_type(&s);
	*types += types_before - s.types_left;
	if (s.damaged || !r2r_instance_read_method(&instance, r2r, module, &s.at))
		return;
	*types += instance.types;
	*method = (struct r2r_method){
		.metadata = instance.metadata,
		.method_rid = instance.method_rid,
		.member_ref_rid = instance.member_ref_rid,
	};
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
		uint32_t types;

		read_import(r2r, pe_cursor(r2r->pe, rva), &imports->methods[i], &types);
		if (types > types_left)
			return;
		types_left -= types;
	}
}

bool r2r_import_method(const struct r2r *r2r, uint32_t index, struct r2r_method *method)
{
	const struct r2r_imports *imports = &r2r->learnt->imports;

	if (!imports->read)
		read_imports(r2r);
	if (index >= imports->count)
		return false;
	*method = imports->methods[index];
	return true;
}
