// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cleanup.h"
#include "tests/unit/golden.h"

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/signature.h"

struct fixture {
	struct golden file;
	struct metadata *metadata;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->file = golden_read("tiny-metadata.bin");
	assert_int_equal(metadata_create(&fixture->metadata, golden_span(&fixture->file), NULL), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	metadata_destroy(fixture->metadata);
	golden_free(&fixture->file);
	free(fixture);
	return 0;
}

#define TYPE(...)                                                                          \
	{                                                                                  \
		(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) \
	}

/* Tokens in images.py: TypeRef 2 List`1 (0x09), 3 its Enumerator (0x0d); TypeDef 2 Outer (0x08). */
static const struct {
	struct span bytes;
	const char *il;
	const char *clr;
} types[] = {
	{ TYPE(0x01), "void", "System.Void" },
	{ TYPE(0x02), "bool", "System.Boolean" },
	{ TYPE(0x03), "char", "System.Char" },
	{ TYPE(0x04), "int8", "System.SByte" },
	{ TYPE(0x05), "uint8", "System.Byte" },
	{ TYPE(0x06), "int16", "System.Int16" },
	{ TYPE(0x07), "uint16", "System.UInt16" },
	{ TYPE(0x08), "int32", "System.Int32" },
	{ TYPE(0x09), "uint32", "System.UInt32" },
	{ TYPE(0x0a), "int64", "System.Int64" },
	{ TYPE(0x0b), "uint64", "System.UInt64" },
	{ TYPE(0x0c), "float32", "System.Single" },
	{ TYPE(0x0d), "float64", "System.Double" },
	{ TYPE(0x0e), "string", "System.String" },
	{ TYPE(0x16), "typedref", "System.TypedReference" },
	{ TYPE(0x18), "nint", "System.IntPtr" },
	{ TYPE(0x19), "nuint", "System.UIntPtr" },
	{ TYPE(0x1c), "object", "System.Object" },
	{ TYPE(0x0f, 0x0f, 0x01), "void**", "System.Void**" },
	{ TYPE(0x10, 0x0e), "string&", "System.String&" },
	{ TYPE(0x1d, 0x1d, 0x08), "int32[][]", "System.Int32[][]" },
	{ TYPE(0x14, 0x08, 0x02, 0x00, 0x00), "int32[,]", "System.Int32[,]" },
	{ TYPE(0x14, 0x08, 0x03, 0x02, 0x05, 0x06, 0x01, 0x01), "int32[,,]", "System.Int32[,,]" },
	{ TYPE(0x14, 0x08, 0x01, 0x00, 0x00), "int32[*]", "System.Int32[*]" },
	{ TYPE(0x12, 0x08), "Tiny.Outer", "Tiny.Outer" },
	{ TYPE(0x11, 0x0d), "System.Collections.Generic.List`1+Enumerator",
	  "System.Collections.Generic.List`1+Enumerator" },
	/* The arguments of a generic type are spelled as the runtime spells them. */
	{ TYPE(0x15, 0x12, 0x09, 0x01, 0x08), "System.Collections.Generic.List`1[System.Int32]",
	  "System.Collections.Generic.List`1[System.Int32]" },
	{ TYPE(0x15, 0x12, 0x09, 0x02, 0x1d, 0x0e, 0x13, 0x01),
	  "System.Collections.Generic.List`1[System.String[],!1]",
	  "System.Collections.Generic.List`1[System.String[],!1]" },
	{ TYPE(0x12, 0x06), "System.Collections.Generic.List`1[System.String]",
	  "System.Collections.Generic.List`1[System.String]" },
	{ TYPE(0x13, 0x00), "!0", "!0" },
	{ TYPE(0x1e, 0x81, 0x23), "!!291", "!!291" },
	{ TYPE(0x1f, 0x05, 0x20, 0x09, 0x08), "int32", "System.Int32" },
	{ TYPE(0x45, 0x10, 0x08), "int32&", "System.Int32&" },
	{ TYPE(0x41, 0x08), "int32", "System.Int32" },
	{ TYPE(0x1b, 0x00, 0x00, 0x01), "void(*)()", "System.Void(*)()" },
	{ TYPE(0x1b, 0x09, 0x02, 0x08, 0x0e, 0x10, 0x0a), "int32(*)(string,int64&)",
	  "System.Int32(*)(System.String,System.Int64&)" },
	{ TYPE(0x3e), "System.__Canon", "System.__Canon" },
	{ TYPE(0x3d, 0x11, 0x08), "Tiny.Outer", "Tiny.Outer" },
};

UNIT_TEST(test_every_type)
{
	const struct fixture *fixture = *state;
	_cleanup_(text_deinit) struct text text = { 0 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (enum signature_style style = SIGNATURE_IL; style <= SIGNATURE_CLR; style++) {
			struct signature s;

			signature_init(&s, cursor_over(types[i].bytes), fixture->metadata);
			text_clear(&text);
			signature_add_type(&s, style, &text);
			assert_string_equal(text_chars(&text),
					    style == SIGNATURE_IL ? types[i].il : types[i].clr);
			assert_false(s.damaged);
			assert_int_equal(cursor_left(&s.at), 0);
		}
	}
}

UNIT_TEST(test_skipping_reads_as_much)
{
	const struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct signature s;

		signature_init(&s, cursor_over(types[i].bytes), fixture->metadata);
		signature_skip_type(&s);
		assert_false(s.damaged);
		assert_int_equal(cursor_left(&s.at), 0);
	}
}

static void expect_damaged(const struct fixture *fixture, struct span bytes)
{
	_cleanup_(text_deinit) struct text text = { 0 };
	struct signature s;

	signature_init(&s, cursor_over(bytes), fixture->metadata);
	signature_add_type(&s, SIGNATURE_IL, &text);
	assert_true(s.damaged);
	signature_add_type(&s, SIGNATURE_IL, &text);
	assert_int_equal(text_chars(&text)[text.length - 1], '?');
}

UNIT_TEST(test_damaged_signatures)
{
	const struct span damaged[] = {
		TYPE(0x77),					/* no such element */
		TYPE(0x1d),					/* an array of nothing */
		TYPE(0x12, 0x07),				/* a token of no table */
		TYPE(0x14, 0x08, 0x00, 0, 0),			/* rank 0 */
		TYPE(0x14, 0x08, 0x40, 0, 0),			/* rank 64 */
		TYPE(0x15, 0x12, 0x09, 0xdf, 0xff, 0xff, 0xff), /* a great many arguments */
		TYPE(0x1b, 0x06, 0x00, 0x01),			/* a field is no function */
	};

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		expect_damaged(*state, damaged[i]);
	expect_damaged(*state, (struct span){ 0 });
}

UNIT_TEST(test_depth_and_length_are_capped)
{
	enum { LONG = 200000 };
	static const uint8_t many[] = { 0x15, 0x12, 0x09, 0xdf, 0xff, 0xff, 0xff };
	_cleanup_free_ uint8_t *bytes = malloc(LONG);
	_cleanup_(text_deinit) struct text text = { 0 };
	struct signature s;

	assert_non_null(bytes);
	memset(bytes, 0x1d, LONG); /* arrays of arrays of ... */
	expect_damaged(*state, (struct span){ bytes, LONG });
	memset(bytes, 0x45, LONG); /* pinned pinned ... */
	expect_damaged(*state, (struct span){ bytes, LONG });

	memset(bytes, 0x0e, LONG);
	memcpy(bytes, many, sizeof(many));
	signature_init(&s, cursor_over((struct span){ bytes, LONG }), NULL);
	signature_add_type(&s, SIGNATURE_CLR, &text);
	assert_true(s.damaged);
	assert_true(text.length < 65536);
}

UNIT_TEST(test_arguments_take_the_place_of_parameters)
{
	static const uint8_t args[] = { 0x08, 0x1d, 0x0e };
	static const uint8_t bytes[] = {
		0x15, 0x12, 0x09, 0x03, 0x13, 0x00, 0x13, 0x01, 0x1e, 0x05
	};
	const struct fixture *fixture = *state;
	_cleanup_(signature_args_deinit) struct signature_args list = { .count = 0 };
	_cleanup_(text_deinit) struct text text = { 0 };
	struct signature s;

	signature_init(&s, cursor_over((struct span){ args, sizeof(args) }), fixture->metadata);
	signature_read_args(&s, 2, &list);
	assert_false(s.damaged);
	signature_args_spell(&list, ", ", &text);
	assert_string_equal(text_chars(&text), "System.Int32, System.String[]");

	text_clear(&text);
	signature_init(&s, cursor_over((struct span){ bytes, sizeof(bytes) }), fixture->metadata);
	s.type_args = &list;
	s.method_args = &list;
	signature_add_type(&s, SIGNATURE_IL, &text);
	assert_string_equal(text_chars(&text),
			    "System.Collections.Generic.List`1[System.Int32,System.String[],!!5]");
}

UNIT_TEST(test_types_whose_metadata_is_not_at_hand)
{
	static const uint8_t bytes[] = { 0x3f, 0x05, 0x12, 0x08 };
	const struct fixture *fixture = *state;
	_cleanup_(text_deinit) struct text text = { 0 };
	struct signature s;

	signature_init(&s, cursor_over((struct span){ bytes, sizeof(bytes) }), fixture->metadata);
	signature_add_type(&s, SIGNATURE_IL, &text);
	assert_string_equal(text_chars(&text), "?");
	assert_true(s.unnamed);
	assert_false(s.damaged);
	assert_ptr_equal(s.metadata, fixture->metadata);
}

UNIT_TEST(test_owners)
{
	static const uint8_t generic[] = { 0x15, 0x12, 0x0c, 0x01, 0x0e };
	static const uint8_t plain[] = { 0x0e };
	const struct fixture *fixture = *state;
	struct signature_owner owner;
	_cleanup_(text_deinit) struct text text = { 0 };
	struct signature s;

	signature_init(&s, cursor_over((struct span){ generic, sizeof(generic) }),
		       fixture->metadata);
	signature_begin_owner(&s, &owner);
	assert_int_equal(owner.type_rid, 3);
	assert_int_equal(owner.arg_count, 1);
	signature_add_owner(&s, &owner, &text);
	assert_string_equal(text_chars(&text), "Tiny.Outer+Inner`1");

	text_clear(&text);
	signature_init(&s, cursor_over((struct span){ plain, sizeof(plain) }), fixture->metadata);
	signature_begin_owner(&s, &owner);
	signature_add_owner(&s, &owner, &text);
	assert_string_equal(text_chars(&text), "System.String");
}

UNIT_TEST(test_noise)
{
	enum { ROUNDS = 20000, MOST = 64 };
	const struct fixture *fixture = *state;
	_cleanup_(text_deinit) struct text text = { 0 };
	uint32_t random = 1;

	for (int round = 0; round < ROUNDS; round++) {
		struct golden noise = { malloc(MOST), golden_random(&random) % MOST };
		struct signature s;
		uint32_t params;

		assert_non_null(noise.bytes);
		for (size_t i = 0; i < noise.size; i++)
			noise.bytes[i] = (uint8_t)(golden_random(&random) % 0x48);
		signature_init(&s, cursor_over(golden_span(&noise)), fixture->metadata);
		text_clear(&text);
		if (signature_begin_method(&s, &params)) {
			signature_add_type(&s, SIGNATURE_CLR, &text);
			signature_add_params(&s, params, SIGNATURE_IL, &text);
		}
		golden_free(&noise);
	}
}

UNIT_MAIN(set_up, tear_down)
