// SPDX-License-Identifier: GPL-2.0-or-later
/* contract.h and layout.h: what runtimes say of their structures, and what is made of it. */
#include "base/cleanup.h"
#include "tests/unit/clr_methods.h"
#include "tests/unit/golden.h"

#include <errno.h>

#include "bpf/follow.h"
#include "runtime/dotnet/contract.h"

/* A descriptor in memory of its own. */
struct descriptor {
	struct world world;
	uint64_t at;
	struct contract *contract;
};

static int descriptor_read(struct descriptor *d, struct error *err)
{
	contract_destroy(d->contract);
	d->contract = NULL;
	memory_forget(d->world.memory);
	return contract_read(&d->contract, d->world.memory, d->at, err);
}

/* Read @json with @count pointers, which are 0x100, 0x101, ... */
static int descriptor_init(struct descriptor *d, const char *json, uint32_t count)
{
	uint64_t pointers[64];

	*d = (struct descriptor){ 0 };
	world_init(&d->world, 8, WORLD_ROOM);
	for (uint32_t i = 0; i < count && i < 64; i++)
		pointers[i] = 0x100 + i;
	d->at = world_contract(&d->world, json, pointers, count);
	return descriptor_read(d, NULL);
}

static void descriptor_deinit(struct descriptor *d)
{
	contract_destroy(d->contract);
	world_deinit(&d->world);
}

static void open_golden(struct descriptor *d, const char *name)
{
	_cleanup_(golden_free) struct golden file = golden_read(name);
	_cleanup_free_ char *json = strndup((const char *)file.bytes, file.size);

	assert_int_equal(descriptor_init(d, json, 24), 0);
}

static int status_of(const char *json)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	int result = descriptor_init(&d, json, 1);

	return result;
}

#define PARTS(types, globals, contracts) \
	"{\"types\":{" types "},\"globals\":{" globals "},\"contracts\":{" contracts "}}"

/* Reading ---------------------------------------------------------------------------------- */

UNIT_TEST(what_10_says)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	uint64_t value = 0;

	open_golden(&d, "contract-10.json");
	assert_int_equal(contract_field(d.contract, "Module", "PEAssembly"), 216);
	assert_int_equal(contract_field(d.contract, "MethodDesc", "!"), 16);
	assert_int_equal(contract_field(d.contract, "Thread", "GCHandle"), 304); /* with a type */
	assert_int_equal(contract_field(d.contract, "Thread", "NoSuchField"), -1);
	assert_int_equal(contract_field(d.contract, "NoSuchType", "!"), -1);
	assert_int_equal(contract_field(d.contract, "UnwindInfo", "!"), -1);
	assert_true(contract_global(d.contract, "StubCodeBlockLast", &value));
	assert_int_equal(value, 15);
	assert_true(contract_global(d.contract, "ExecutionManagerCodeRangeMapAddress", &value));
	assert_int_equal(value, 0x100 + 20);
	assert_false(contract_global(d.contract, "Architecture", &value)); /* no number */
	assert_false(contract_global(d.contract, "NoSuchGlobal", &value));
	assert_int_equal(contract_version(d.contract, "ExecutionManager"), 2);
	assert_int_equal(contract_version(d.contract, "RuntimeTypeSystem"), 1);
	assert_int_equal(contract_version(d.contract, "NoSuchContract"), 0);
}

UNIT_TEST(what_9_says)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	uint64_t value = 0;

	open_golden(&d, "contract-9.json");
	assert_int_equal(contract_field(d.contract, "Module", "PEAssembly"), -1);
	assert_int_equal(contract_field(d.contract, "Module", "Base"), 288);
	assert_int_equal(contract_version(d.contract, "ExecutionManager"), 0);
	assert_true(contract_global(d.contract, "AppDomain", &value));
	assert_int_equal(value, 0x101);
	assert_false(contract_global(d.contract, "StubCodeBlockLast", &value));
}

UNIT_TEST(numbers)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	uint64_t value = 0;

	assert_int_equal(
		descriptor_init(&d,
				PARTS("\"T\":{\"a\":-1,\"b\":1048577,\"c\":1048576,"
				      "\"d\":\"8\",\"e\":[],\"f\":[16],\"g\":null},"
				      "\"U\":7,\"V\":null",
				      "\"a\":5,\"b\":\"0x10\",\"c\":\"x\",\"d\":\"\","
				      "\"e\":[[3]],\"f\":[[2]],\"g\":[],\"h\":[[]],"
				      "\"i\":[[-1],\"p\"],\"j\":[1],\"k\":null,\"l\":[[1],\"p\"],"
				      "\"m\":\"0x1ffffffffffffffff\",\"n\":\"5 \"",
				      ""),
				2),
		0);
	assert_int_equal(contract_field(d.contract, "T", "a"), -1);
	assert_int_equal(contract_field(d.contract, "T", "b"), -1);
	assert_int_equal(contract_field(d.contract, "T", "c"), 1048576);
	assert_int_equal(contract_field(d.contract, "T", "d"), -1);
	assert_int_equal(contract_field(d.contract, "T", "e"), -1);
	assert_int_equal(contract_field(d.contract, "T", "f"), 16);
	assert_int_equal(contract_field(d.contract, "T", "g"), -1);
	assert_int_equal(contract_field(d.contract, "U", "a"), -1);
	assert_int_equal(contract_field(d.contract, "V", "a"), -1);
	assert_true(contract_global(d.contract, "a", &value));
	assert_int_equal(value, 5);
	assert_true(contract_global(d.contract, "b", &value));
	assert_int_equal(value, 16);
	/* Indices of two pointers, plain and with a type. */
	assert_true(contract_global(d.contract, "j", &value));
	assert_int_equal(value, 0x101);
	assert_true(contract_global(d.contract, "l", &value));
	assert_int_equal(value, 0x101);
	for (const char *name = "cdefghikmn"; *name; name++) {
		const char one[] = { *name, '\0' };

		assert_false(contract_global(d.contract, one, &value));
	}
}

/* Numbers, from .NET 11 on strings; what makes no sense must not pass for what is not there. */
UNIT_TEST(versions)
{
	_cleanup_(descriptor_deinit) struct descriptor d;

	assert_int_equal(
		descriptor_init(&d,
				PARTS("", "",
				      "\"a\":1,\"b\":\"c1\",\"c\":\"c2\",\"d\":\"3\",\"e\":300,"
				      "\"f\":\"n1\",\"g\":\"\",\"h\":null,\"i\":[1],\"j\":0,"
				      "\"k\":-1,\"l\":\"c\",\"m\":254"),
				0),
		0);
	assert_int_equal(contract_version(d.contract, "a"), 1);
	assert_int_equal(contract_version(d.contract, "b"), CONTRACT_ANEW | 1);
	assert_int_equal(contract_version(d.contract, "c"), CONTRACT_ANEW | 2);
	assert_int_equal(contract_version(d.contract, "d"), 3);
	assert_int_equal(contract_version(d.contract, "m"), 254);
	for (const char *name = "efghijkl"; *name; name++) {
		const char one[] = { *name, '\0' };

		assert_int_equal(contract_version(d.contract, one), CONTRACT_VERSION_STRANGE);
	}
}

UNIT_TEST(damaged_json)
{
	_cleanup_(text_deinit) struct text deep = { 0 };

	assert_int_equal(status_of(PARTS("", "", "")), 0);
	assert_int_equal(status_of(""), -EBADMSG);
	assert_int_equal(status_of("{"), -EBADMSG);
	assert_int_equal(status_of("null"), -EBADMSG);
	assert_int_equal(status_of("[]"), -EBADMSG);
	assert_int_equal(status_of("{}"), -EBADMSG);
	assert_int_equal(status_of("{\"types\":{},\"globals\":{}}"), -EBADMSG);
	assert_int_equal(status_of("{\"types\":{},\"contracts\":{}}"), -EBADMSG);
	assert_int_equal(status_of("{\"globals\":{},\"contracts\":{}}"), -EBADMSG);
	/* Parts that are no objects have nothing in them. */
	assert_int_equal(status_of("{\"types\":1,\"globals\":null,\"contracts\":[]}"), 0);
	/* Nested more deeply than anything in it needs to be. */
	for (int i = 0; i < 40; i++)
		text_add(&deep, "{\"types\":");
	assert_int_equal(status_of(text_chars(&deep)), -EBADMSG);
}

UNIT_TEST(damaged_heads)
{
	struct error err = { .text = "" };
	_cleanup_(descriptor_deinit) struct descriptor d;

	assert_int_equal(descriptor_init(&d, PARTS("", "", ""), 2), 0);
	world_put(&d.world, d.at, 0x55, 1); /* another magic */
	assert_int_equal(descriptor_read(&d, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "no contract descriptor"));
	world_put(&d.world, d.at, 'D', 1);
	assert_int_equal(descriptor_read(&d, NULL), 0);

	world_put(&d.world, d.at + 12, UINT32_MAX, 4); /* its size */
	assert_int_equal(descriptor_read(&d, NULL), -EBADMSG);
	world_put(&d.world, d.at + 12, 1 << 20, 4); /* not all of that is mapped */
	assert_int_equal(descriptor_read(&d, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "cannot be read whole"));
	world_put(&d.world, d.at + 12, 10, 4);
	assert_int_equal(descriptor_read(&d, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not understood"));
	world_put(&d.world, d.at + 12, strlen(PARTS("", "", "")), 4);
	assert_int_equal(descriptor_read(&d, NULL), 0);

	world_put(&d.world, d.at + 24, UINT32_MAX, 4); /* how many pointers there are */
	assert_int_equal(descriptor_read(&d, NULL), -EBADMSG);
	world_put(&d.world, d.at + 24, 2, 4);
	world_put(&d.world, d.at + 32, 0x1000, 8); /* and where */
	assert_int_equal(descriptor_read(&d, NULL), -EBADMSG);
	d.at = 0x1000;
	assert_int_equal(descriptor_read(&d, NULL), -EBADMSG);
}

/* Every truncation, and some with a byte changed: anything may be found, but nothing crashes. */
UNIT_TEST(tortured)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	struct layout layout;
	uint64_t json;
	uint32_t random = 1, whole = 0;
	size_t size;

	open_golden(&d, "contract-9.json");
	json = world_get(&d.world, d.at + 16, 8);
	size = (size_t)world_get(&d.world, d.at + 12, 4);
	for (size_t cut = 0; cut < size; cut += 7) {
		world_put(&d.world, d.at + 12, cut, 4);
		assert_int_equal(descriptor_read(&d, NULL), -EBADMSG);
	}
	world_put(&d.world, d.at + 12, size, 4);
	for (int i = 0; i < 500; i++) {
		uint64_t at = json + golden_random(&random) % size;
		uint64_t before = world_get(&d.world, at, 1);

		world_put(&d.world, at, golden_random(&random) & 0xff, 1);
		if (descriptor_read(&d, NULL) == 0)
			whole += layout_init(&layout, 9, d.contract, NULL) == 0;
		world_put(&d.world, at, before, 1);
	}
	assert_true(whole > 0 && whole < 500);
	assert_int_equal(descriptor_read(&d, NULL), 0);
}

/* Layouts ----------------------------------------------------------------------------------- */

/* What the runtimes say of themselves is what the table has for them. */
UNIT_TEST(descriptors_agree_with_the_table)
{
	static const struct {
		unsigned int major;
		const char *name;
	} versions[] = { { 9, "contract-9.json" },
			 { 10, "contract-10.json" },
			 { 11, "contract-11.json" } };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct layout table, described;
		struct descriptor d;

		open_golden(&d, versions[i].name);
		assert_int_equal(layout_init(&table, versions[i].major, NULL, NULL), 0);
		assert_int_equal(layout_init(&described, versions[i].major, d.contract, NULL), 0);
		for (enum layout_field field = 0; field < LAYOUT_FIELDS; field++) {
			if (table.at[field] != described.at[field])
				fail_msg(".NET %u, field %d: %d in the table, described as %d",
					 versions[i].major, (int)field, table.at[field],
					 described.at[field]);
		}
		assert_int_equal(table.nibble_map, described.nibble_map);
		assert_int_equal(table.token_bits, described.token_bits);
		assert_int_equal(table.last_stub_kind, described.last_stub_kind);
		descriptor_deinit(&d);
	}
}

/* A field that the descriptor moves is looked for where it says. */
UNIT_TEST(the_descriptor_goes_first)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	struct layout layout;

	assert_int_equal(
		descriptor_init(&d,
				PARTS("\"Module\":{\"PEAssembly\":1000}",
				      "\"MethodDescTokenRemainderBitCount\":[\"0xe\",\"uint8\"],"
				      "\"StubCodeBlockLast\":[\"0x20\",\"uint8\"]",
				      "\"ExecutionManager\":2"),
				0),
		0);
	assert_int_equal(layout_init(&layout, 9, d.contract, NULL), 0);
	assert_int_equal(layout.at[MODULE_PE_ASSEMBLY], 1000);
	assert_int_equal(layout.at[MODULE_FLAGS], 296);
	assert_int_equal(layout.nibble_map, 2);
	assert_int_equal(layout.token_bits, 14);
	assert_int_equal(layout.last_stub_kind, 0x20);
	descriptor_deinit(&d);
	/* Numbers that cannot be are left out. */
	assert_int_equal(descriptor_init(&d,
					 PARTS("",
					       "\"MethodDescTokenRemainderBitCount\":17,"
					       "\"StubCodeBlockLast\":256",
					       ""),
					 0),
			 0);
	assert_int_equal(layout_init(&layout, 9, d.contract, NULL), 0);
	assert_int_equal(layout.token_bits, 12);
	assert_int_equal(layout.last_stub_kind, 15);
}

/* .NET 11 counts anew from what .NET 10 has as version 2. */
UNIT_TEST(versions_that_were_counted_anew)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	struct layout layout;

	assert_int_equal(descriptor_init(&d,
					 PARTS("", "",
					       "\"ExecutionManager\":\"c1\","
					       "\"RuntimeTypeSystem\":\"c1\""),
					 0),
			 0);
	assert_int_equal(layout_init(&layout, 11, d.contract, NULL), 0);
	assert_int_equal(layout.nibble_map, 2);
	assert_int_equal(layout_init(&layout, 9, d.contract, NULL), 0);
	assert_int_equal(layout.nibble_map, 2);
}

UNIT_TEST(versions_that_are_not_known)
{
	static const unsigned int majors[] = { 0, 6, 7, 12, UINT32_MAX };
	struct error err = { .text = "" };
	_cleanup_(descriptor_deinit) struct descriptor d;
	struct layout layout;

	for (size_t i = 0; i < sizeof(majors) / sizeof(majors[0]); i++) {
		assert_int_equal(layout_init(&layout, majors[i], NULL, &err), -ENOTSUP);
		assert_non_null(strstr(err.text, "is not known here"));
	}
	/* What 10 says of itself is enough for one that is laid out alike. */
	open_golden(&d, "contract-10.json");
	assert_int_equal(layout_init(&layout, 12, d.contract, &err), 0);
	assert_int_equal(layout.at[MODULE_PE_ASSEMBLY], 216);
	assert_false(layout_has(&layout, VERSION_TIER)); /* which nothing tells */
	descriptor_deinit(&d);
	/* What 9 says is not. */
	open_golden(&d, "contract-9.json");
	assert_int_equal(layout_init(&layout, 12, d.contract, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "does not say where"));
}

UNIT_TEST(newer_contracts)
{
	static const char *const newer[] = {
		PARTS("", "", "\"ExecutionManager\":3"),
		PARTS("", "", "\"ExecutionManager\":\"c2\""),
		PARTS("", "", "\"ExecutionManager\":\"n1\""),
		PARTS("", "", "\"ExecutionManager\":1000"),
		PARTS("", "", "\"RuntimeTypeSystem\":2"),
		PARTS("", "", "\"RuntimeTypeSystem\":\"c2\""),
	};
	struct error err = { .text = "" };
	struct descriptor d;
	struct layout layout;

	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		assert_int_equal(descriptor_init(&d, newer[i], 0), 0);
		assert_int_equal(layout_init(&layout, 10, d.contract, &err), -ENOTSUP);
		assert_non_null(strstr(err.text, "newer contracts"));
		assert_null(strchr(err.text, '\n'));
		descriptor_deinit(&d);
	}
}

/* How the JIT is asked to compile a method: no runtime describes that, so the table must know. */
UNIT_TEST(where_the_jits_flags_lie)
{
	_cleanup_(descriptor_deinit) struct descriptor d;
	struct layout layout;

	for (unsigned int major = 8; major <= 11; major++) {
		assert_int_equal(layout_init(&layout, major, NULL, NULL), 0);
		assert_int_equal(layout.at[JIT_INFO_FLAGS], 40);
	}
	/* What is not known is not guessed. */
	open_golden(&d, "contract-10.json");
	assert_int_equal(layout_init(&layout, 12, d.contract, NULL), 0);
	assert_false(layout_has(&layout, JIT_INFO_FLAGS));
}

/* What the programs that follow methods are told; nothing of a version that is not known. */
UNIT_TEST(layouts_for_the_programs)
{
	struct follow_shared shared = { 0 };
	struct error err = { .text = "" };
	_cleanup_(descriptor_deinit) struct descriptor d;
	struct layout layout;

	open_golden(&d, "contract-10.json");
	assert_int_equal(layout_init(&layout, 12, d.contract, NULL), 0);
	assert_int_equal(layout_for_programs(&layout, &shared, &err), -ENOTSUP);
	assert_int_equal(shared.has_layout, 0);
	for (unsigned int major = 8; major <= 11; major++) {
		shared = (struct follow_shared){ 0 };
		assert_int_equal(layout_init(&layout, major, NULL, NULL), 0);
		assert_int_equal(layout_for_programs(&layout, &shared, NULL), 0);
		assert_int_equal(shared.has_layout, 1);
		assert_int_equal(shared.layout.is_8, major == 8);
		assert_int_equal(shared.layout.jit_flags, 40);
		assert_int_equal(shared.layout.token_bits, 12);
		assert_int_equal(shared.layout.dynamic_name, layout.at[DYNAMIC_NAME]);
		assert_int_equal(shared.layout.chunk_bytes, layout.at[CHUNK_SIZE]);
		assert_int_equal(shared.layout.table_module, layout.at[TABLE_MODULE_FIELD]);
	}
	/* The first 8 bytes of a MethodDesc are all that the programs read of it. */
	shared.has_layout = 0;
	layout.at[METHOD_FLAGS] = 7;
	assert_int_equal(layout_for_programs(&layout, &shared, &err), -ENOTSUP);
	layout.at[METHOD_FLAGS] = 6;
	layout.at[PE_LAYOUT_FLAGS] = LAYOUT_ABSENT;
	assert_int_equal(layout_for_programs(&layout, &shared, &err), -ENOTSUP);
	assert_int_equal(shared.has_layout, 0);
}

/* A whole look at a runtime of a version that only its descriptor tells of. */
UNIT_TEST(a_newer_runtime)
{
	_cleanup_(golden_free) struct golden file = golden_read("contract-10.json");
	_cleanup_free_ char *json = strndup((const char *)file.bytes, file.size);
	uint64_t pointers[24] = { 0 }, desc, start;
	struct world_heap heap;
	_cleanup_(world_deinit) struct world world;
	struct jit *jit;

	world_init(&world, 10, WORLD_ROOM);
	pointers[20] = world.range_map;
	world.contract_at = world_contract(&world, json, pointers, 24);
	world.major = 12;
	heap = world_heap(&world, 4096, false);
	desc = world_method(&world, world_type(&world, world_file_module(&world, "tiny-il.dll"), 2),
			    2, WORLD_METHOD_TIERED | WORLD_METHOD_SLOT);
	start = world_body(&world, &heap, 32, desc);
	world_set_own(&world, desc, start);
	assert_int_equal(world_create_jit(&world, &jit, NULL), 0);
	assert_int_equal(jit_read(jit, NULL), 0);
	assert_int_equal(jit->body_count, 1);
	assert_int_equal(jit->method_count, 1);
	assert_int_equal(jit->bodies[0].start.value, start);
	assert_int_equal(jit->bodies[0].state, STATE_CURRENT);
	jit_destroy(jit);
}

UNIT_MAIN(NULL, NULL)
