/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What code is of in a runtime made of bytes: modules, types, methods, and their versions. */
#ifndef TESTS_UNIT_CLR_METHODS_H
#define TESTS_UNIT_CLR_METHODS_H

#include "tests/unit/clr_world.h"

enum {
	WORLD_METHOD_PLAIN = 0, /* the classes of MethodDescs that have code */
	WORLD_METHOD_INSTANTIATED = 5,
	WORLD_METHOD_DYNAMIC = 7,
	WORLD_METHOD_TIERED = 0x100, /* beyond the class: what world_method() is asked for */
	WORLD_METHOD_SLOT = 0x200,
	WORLD_METHOD_IMPL = 0x400,     /* with what comes before the slot */
	WORLD_METHOD_OVERRIDE = 0x800, /* likewise */

	WORLD_POINTER = 0x0f, /* kinds of world_param() */
	WORLD_BYREF = 0x10,
	WORLD_TYPE_PARAM = 0x13,
	WORLD_FUNCTION = 0x1b,
};

/* Modules --------------------------------------------------------------------------------- */

static inline uint64_t world_bare_module(struct world *world, uint64_t pe_image)
{
	uint64_t module = world_alloc(world, 1720), assembly = world_alloc(world, 32);

	world_set(world, module, MODULE_FLAGS, 0x800, 4); /* it may be optimised */
	world_set(world, module, MODULE_LOADER_ALLOCATOR, world->allocator, 8);
	world_set(world, module, MODULE_PE_ASSEMBLY, assembly, 8);
	world_set(world, assembly, PE_ASSEMBLY_IMAGE, pe_image, 8);
	return module;
}

/* A module whose image lies at @base, as in its file or laid out by sections. */
static inline uint64_t world_module(struct world *world, uint64_t base, size_t size, bool loaded)
{
	uint64_t image = world_alloc(world, 144), layout = world_alloc(world, 32);

	world_set(world, image, PE_IMAGE_LAYOUT, layout, 8);
	world_set(world, layout, PE_LAYOUT_BASE, base, 8);
	world_set(world, layout, PE_LAYOUT_SIZE, size, 4);
	world_set(world, layout, PE_LAYOUT_FLAGS, loaded, 4);
	return world_bare_module(world, image);
}

static inline uint64_t world_file_module(struct world *world, const char *name)
{
	size_t size;
	uint64_t at = world_file(world, name, &size);

	return world_module(world, at, size, false);
}

/* Where an exception goes in a body, from its beginning on: src/coreclr/inc/corhdr.h. */
struct world_clause {
	uint32_t flags; /* 1: by a filter, 2: a finally */
	uint32_t try_begin, try_end;
	uint32_t handler_begin, handler_end;
	uint32_t unused;
	uint64_t filter; /* or the type that is caught */
};

/* The clauses of a body of the JIT's, behind their number. */
static inline void world_set_clauses(struct world *world, uint64_t body,
				     const struct world_clause *clauses, size_t count)
{
	enum { COUNT_BEFORE = 8, FIRST = 8 };
	uint64_t all = world_alloc(world, COUNT_BEFORE + FIRST + count * sizeof(*clauses));

	world_put(world, all, count, 4);
	memcpy(world_at(world, all + COUNT_BEFORE + FIRST, count * sizeof(*clauses)), clauses,
	       count * sizeof(*clauses));
	world_set(world, world_code_header(world, body), CODE_EH_INFO, all + COUNT_BEFORE, 8);
}

/*
 * As the loader lays out tests/golden/tiny-il.dll, which has one section. With @missing it is said
 * to be as long as there is memory, and so many bytes longer.
 */
static inline uint64_t world_loaded_module(struct world *world, size_t missing)
{
	enum {
		SECTION_RVA = 0x1200,
		SECTION_RAW = 0x200,
		MOST = 4 * WORLD_PAGE,
		ROW_RAW_SIZE = 16
	};
	uint64_t base = world_alloc_at(world, MOST, WORLD_PAGE);
	size_t size;
	uint64_t file = world_file(world, "tiny-il.dll", &size);
	size_t length = size - SECTION_RAW;
	uint8_t *header = world_at(world, base, SECTION_RAW), *row;

	memcpy(header, world_at(world, file, SECTION_RAW), SECTION_RAW);
	memcpy(world_at(world, base + SECTION_RVA, length),
	       world_at(world, file + SECTION_RAW, length), length);
	if (missing) {
		length = WORLD_BASE + world->room - (base + SECTION_RVA) + missing;
		row = memmem(header, SECTION_RAW, ".text", sizeof(".text"));
		world_check(row != NULL);
		memcpy(row + ROW_RAW_SIZE, &(uint32_t){ (uint32_t)length }, sizeof(uint32_t));
	}
	return world_module(world, base, SECTION_RVA + length, true);
}

/* A module of Reflection.Emit: metadata at @at, in a buffer. */
static inline uint64_t world_emitted_module(struct world *world, const void *metadata, size_t size)
{
	uint64_t module = world_bare_module(world, 0);
	uint64_t buffer = world_alloc(world, 32 + size);
	uint64_t bytes = world_field(world, buffer, BUFFER_BYTES);

	if (world->layout.buffer_points) {
		world_put(world, bytes, world_copy(world, metadata, size, 16), 8);
	} else {
		memcpy(world_at(world, bytes, size), metadata, size);
	}
	world_set(world, buffer, BUFFER_SIZE, size, 4);
	world_set(world, module, MODULE_DYNAMIC_METADATA, buffer, 8);
	return module;
}

/* Types ----------------------------------------------------------------------------------- */

/* A method table and its class, which lead to each other. */
static inline uint64_t world_table(struct world *world, uint64_t module, uint32_t flags)
{
	uint64_t table = world_alloc(world, 112), class = world_alloc(world, 80);

	world_set(world, table, TABLE_FLAGS, flags, 4);
	world_set(world, table, TABLE_MODULE_FIELD, module, 8);
	world_set(world, table, TABLE_CLASS, class, 8);
	world_set(world, class, CLASS_METHOD_TABLE, table, 8);
	return table;
}

/* The type of row @rid of the module. */
static inline uint64_t world_type(struct world *world, uint64_t module, uint32_t rid)
{
	uint64_t table = world_table(world, module, 0);

	if (layout_has(&world->layout, TABLE_TOKEN16))
		world_set(world, table, TABLE_TOKEN16, rid, 2);
	else
		world_set(world, table, TABLE_FLAGS2, (uint64_t)rid << 8, 4);
	return table;
}

/* Make it an instantiation, whose own arguments are in the last of its dictionaries. */
static inline void world_set_args(struct world *world, uint64_t table, const uint64_t *args,
				  uint16_t count)
{
	enum { DICTIONARIES = 2 }; /* its base type has one too */
	uint64_t info = world_alloc(world, 8 + 8 * DICTIONARIES), per_inst = info + 8;
	uint64_t dictionary = world_alloc(world, 8 * ((size_t)count + 1));

	world_put(world, world_field(world, info, GENERICS_DICTS), DICTIONARIES, 2);
	world_put(world, world_field(world, info, GENERICS_ARGS), count, 2);
	world_put(world, per_inst + 8 * (DICTIONARIES - 1), dictionary, 8);
	world_set(world, table, TABLE_PER_INST, per_inst, 8);
	world_set(world, table, TABLE_FLAGS,
		  world_get(world, world_field(world, table, TABLE_FLAGS), 4) | 0x10, 4);
	for (uint16_t i = 0; i < count; i++)
		world_put(world, dictionary + 8ull * i, args[i], 8);
}

/* Let @table share its class with @canonical. */
static inline void world_share(struct world *world, uint64_t table, uint64_t canonical)
{
	world_set(world, table, TABLE_CLASS, canonical | 1, 8);
}

/* element[], or with a rank element[*], element[,], ... */
static inline uint64_t world_array(struct world *world, uint64_t element, uint32_t rank)
{
	uint64_t table = world_table(world, 0, 0x80000000 | (rank ? 0x80000 : 0xa0000) | 8);

	world_set(world, table, TABLE_BASE_SIZE, 24 + 8 * rank, 4);
	world_set(world, table, TABLE_PER_INST, element, 8);
	return table;
}

/* A handle of a pointer to @type, or a reference to one. */
static inline uint64_t world_param(struct world *world, uint8_t kind, uint64_t type)
{
	uint64_t desc = world_alloc(world, 48);

	world_set(world, desc, TYPE_DESC_FLAGS, kind, 4);
	world_set(world, desc, PARAM_TYPE_ARG, type, 8);
	return desc | 2;
}

/* A handle of a pointer to a function: the type it returns, then @count it takes. */
static inline uint64_t world_function(struct world *world, const uint64_t *types, uint32_t count)
{
	uint64_t desc = world_alloc(world, 48 + 8 * (size_t)count);
	uint64_t at = world_field(world, desc, FUNCTION_TYPES);

	world_set(world, desc, TYPE_DESC_FLAGS, WORLD_FUNCTION, 4);
	world_set(world, desc, FUNCTION_ARG_COUNT, count, 4);
	for (uint32_t i = 0; i <= count; i++)
		world_put(world, at + 8ull * i, types[i], 8);
	return desc | 2;
}

/* Methods --------------------------------------------------------------------------------- */

/* The MethodDesc of row @rid of the module that @table is of: a class of it and what it has. */
static inline uint64_t world_method(struct world *world, uint64_t table, uint32_t rid,
				    unsigned int what)
{
	enum { INDEX = 3 }; /* its place in the chunk, to find the chunk by */
	const struct layout *layout = &world->layout;
	uint64_t chunk = world_alloc(world, 24 + 8 * INDEX + 96);
	uint64_t desc = chunk + (uint64_t)layout->at[CHUNK_SIZE] + 8 * INDEX;
	uint16_t flags = what & 7;

	flags |= what & WORLD_METHOD_SLOT ? 0x20 : 0;
	flags |= what & WORLD_METHOD_IMPL ? 0x10 : 0;
	flags |= what & WORLD_METHOD_OVERRIDE ? 0x08 : 0;
	world_set(world, chunk, CHUNK_METHOD_TABLE, table, 8);
	world_set(world, chunk, CHUNK_TOKEN_RANGE, rid >> layout->token_bits, 2);
	world_set(world, desc, METHOD_CHUNK_INDEX, INDEX, 1);
	world_set(world, desc, METHOD_FLAGS, flags, 2);
	world_set(world, desc, METHOD_TOKEN,
		  (rid & ((1u << layout->token_bits) - 1)) |
			  (what & WORLD_METHOD_TIERED ? 0x8000 : 0),
		  2);
	return desc;
}

/* Where the code of the method's own version is written down. */
static inline uint64_t world_slot(struct world *world, uint64_t desc)
{
	uint16_t flags = (uint16_t)world_get(world, world_field(world, desc, METHOD_FLAGS), 2);
	uint64_t at = desc + ((flags & 7) == WORLD_METHOD_INSTANTIATED ?
				      world->layout.instantiated_bytes :
				      world->layout.method_bytes);

	world_check(flags & 0x20);
	return at + (flags & 0x08 ? 8 : 0) + (flags & 0x10 ? 16 : 0);
}

static inline void world_set_own(struct world *world, uint64_t desc, uint64_t code)
{
	world_put(world, world_slot(world, desc), code, 8);
}

static inline void world_set_method_args(struct world *world, uint64_t desc, const uint64_t *args,
					 uint16_t count)
{
	uint64_t list = world_alloc(world, 8 * ((size_t)count + 1));

	for (uint16_t i = 0; i < count; i++)
		world_put(world, list + 8ull * i, args[i], 8);
	world_set(world, desc, INSTANTIATED_ARGS, list, 8);
	world_set(world, desc, INSTANTIATED_ARG_COUNT, count, 2);
}

/* A DynamicMethod: its name and signature are in memory of its own. */
static inline uint64_t world_dynamic(struct world *world, uint64_t table, const char *name,
				     const uint8_t *signature, uint32_t size)
{
	uint64_t desc = world_method(world, table, 0, WORLD_METHOD_DYNAMIC);

	world_set(world, desc, DYNAMIC_NAME, world_string(world, name), 8);
	world_set(world, desc, STORED_SIG, world_copy(world, signature, size, 1), 8);
	world_set(world, desc, STORED_SIG_SIZE, size, 4);
	return desc;
}

/* Versions -------------------------------------------------------------------------------- */

/* The books of the versions of @desc. */
static inline uint64_t world_state(struct world *world, uint64_t desc, bool own_active)
{
	uint64_t state = world_alloc(world, 32);

	world_set(world, state, VERSIONING_METHOD_DESC, desc, 8);
	world_set(world, state, VERSIONING_FLAGS, own_active ? 4 : 0, 1);
	if (layout_has(&world->layout, METHOD_CODE_DATA)) {
		uint64_t data = world_alloc(world, 32);

		world_set(world, data, CODE_DATA_VERSIONING, state, 8);
		world_set(world, desc, METHOD_CODE_DATA, data, 8);
	} else {
		world_hash_add(world, world_field(world, world->domain, DOMAIN_VERSIONS), state);
	}
	return state;
}

/* The next version in the books, before those that are there. */
static inline uint64_t world_version(struct world *world, uint64_t state, uint64_t code,
				     uint32_t id, uint32_t tier, bool active)
{
	uint64_t node = world_alloc(world, 56);
	uint64_t first = world_field(world, state, VERSIONING_FIRST);
	uint64_t desc = world_get(world, world_field(world, state, VERSIONING_METHOD_DESC), 8);

	world_set(world, node, VERSION_CODE, code, 8);
	world_set(world, node, VERSION_METHOD_DESC, desc, 8);
	world_set(world, node, VERSION_NEXT, world_get(world, first, 8), 8);
	world_set(world, node, VERSION_ID, id, 4);
	world_set(world, node, VERSION_TIER, tier, 4);
	world_set(world, node, VERSION_FLAGS, active, 4);
	world_put(world, first, node, 8);
	return node;
}

/* Note how far calls of a method are counted: 4 is no longer, since it is optimised. */
static inline void world_count_calls(struct world *world, uint64_t desc, uint32_t kind,
				     uint8_t stage)
{
	uint64_t info = world_alloc(world, 32);

	world_set(world, info, CALL_COUNTING_KIND, kind, 4);
	world_set(world, info, CALL_COUNTING_METHOD, desc, 8);
	world_set(world, info, CALL_COUNTING_STAGE, stage, 1);
	world_hash_add(world, world->counting, info);
}

#endif
