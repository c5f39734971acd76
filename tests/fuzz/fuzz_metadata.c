// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as metadata: every row is asked for all that can be asked of it. */
#include "tests/fuzz/fuzz.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/pinvoke.h"
#include "runtime/dotnet/signature.h"
#include "base/error.h"

enum {
	MAX_ROWS = 256, /* of each table: more look alike, and take time */
	MAX_OF_ROW = 4, /* parameters, attributes, fields */
};

static void spell_method(const struct metadata *metadata, struct span blob, struct text *out)
{
	struct signature s;
	uint32_t params;

	text_clear(out);
	signature_init(&s, cursor_over(blob), metadata);
	if (!signature_begin_method(&s, &params))
		return;
	signature_add_type(&s, SIGNATURE_CLR, out);
	signature_add_params(&s, params, SIGNATURE_IL, out);
}

static void look_at_types(const struct metadata *metadata, struct text *out)
{
	for (uint32_t rid = 0; rid < MAX_ROWS; rid++) {
		struct signature s;
		uint32_t first, end;

		text_clear(out);
		metadata_type_name(metadata, rid, out);
		metadata_type_ref_name(metadata, rid, out);
		metadata_type_methods(metadata, rid, &first, &end);
		check(first <= end && end <= metadata_rows(metadata, TABLE_METHOD_DEF) + 1);
		text_clear(out);
		signature_init(&s, cursor_over(metadata_type_spec_signature(metadata, rid)),
			       metadata);
		signature_add_type(&s, SIGNATURE_CLR, out);
		text_add(out, metadata_type_ref_module(metadata, rid));
		metadata_type_base(metadata, rid, out);
		(void)metadata_type_has_attribute(metadata, rid, "FlagsAttribute");
	}
}

static void look_at_fields(const struct metadata *metadata, struct text *out)
{
	for (uint32_t rid = 0; rid < MAX_ROWS; rid++) {
		uint32_t first, end;
		uint64_t value;

		metadata_type_fields(metadata, rid, &first, &end);
		for (uint32_t field = first; field < end && field < first + MAX_OF_ROW; field++) {
			struct signature s;

			text_clear(out);
			text_add(out, metadata_field_name(metadata, field));
			(void)metadata_field_flags(metadata, field);
			(void)metadata_field_constant(metadata, field, &value);
			signature_init(&s, cursor_over(metadata_field_signature(metadata, field)),
				       metadata);
			signature_add_type(&s, SIGNATURE_CLR, out);
		}
	}
}

static void look_at_calls(const struct metadata *metadata, uint32_t rid, struct text *out)
{
	struct metadata_attribute attribute;
	struct metadata_import import;
	uint16_t flags;

	for (uint32_t i = 0; i < MAX_OF_ROW; i++) {
		text_add(out, metadata_param_name(metadata, rid, i, &flags));
		if (!metadata_method_attribute(metadata, rid, i, &attribute))
			continue;
		text_add(out, attribute.type);
	}
	if (metadata_method_import(metadata, rid, &import))
		text_printf(out, "%s %s", import.name, import.library);
	(void)pinvoke_may_be_inlined(metadata, rid);
	pinvoke_spell_params(metadata_method_signature(metadata, rid), metadata, out);
	(void)pinvoke_may_share(metadata, rid, "(int32)");
}

static void look_at_methods(const struct metadata *metadata, struct text *out)
{
	for (uint32_t rid = 0; rid < MAX_ROWS; rid++) {
		enum metadata_table table;

		text_clear(out);
		text_add(out, metadata_method_name(metadata, rid));
		metadata_type_name(metadata, metadata_method_type(metadata, rid), out);
		spell_method(metadata, metadata_method_signature(metadata, rid), out);
		text_add(out, metadata_member_ref_name(metadata, rid));
		(void)metadata_member_ref_parent(metadata, rid, &table);
		spell_method(metadata, metadata_member_ref_signature(metadata, rid), out);
		text_add(out, metadata_assembly_ref_name(metadata, rid));
		(void)metadata_method_has_il(metadata, rid);
		(void)metadata_method_is_generic(metadata, rid);
		(void)metadata_stand_alone_signature(metadata, TABLE_STAND_ALONE_SIG << 24 | rid);
		look_at_calls(metadata, rid, out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metadata *metadata;
	struct text out = { 0 };
	struct error err;

	if (metadata_create(&metadata, (struct span){ data, size }, &err) < 0)
		return 0;
	text_add(&out, metadata_assembly_name(metadata));
	(void)metadata_mvid(metadata);
	metadata_set_place(metadata, size);
	(void)metadata_module(metadata);
	look_at_types(metadata, &out);
	look_at_fields(metadata, &out);
	look_at_methods(metadata, &out);
	text_deinit(&out);
	metadata_destroy(metadata);
	return 0;
}
