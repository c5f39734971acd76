// SPDX-License-Identifier: GPL-2.0-or-later
/* Which code calls of a method go to, as the runtime keeps it, for jit_read.c. */
#include "runtime/dotnet/versions.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/il.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/tree.h"

enum {
	/* Flags of a MethodDesc. */
	METHOD_HAS_VTABLE_OVERRIDE_SLOT = 0x08, /* mdfHasNonVtableSlot */
	METHOD_HAS_IMPL = 0x10,
	METHOD_HAS_CODE_SLOT = 0x20,

	VERSIONING_OWN_IS_ACTIVE = 4,
	VERSION_IS_ACTIVE = 1,

	/* NativeCodeVersion::OptimizationTier. */
	RUNTIME_TIER_0 = 0,
	RUNTIME_TIER_1 = 1,
	RUNTIME_TIER_1_OSR = 2,
	RUNTIME_TIER_OPTIMIZED = 3,
	RUNTIME_TIER_0_INSTRUMENTED = 4,
	RUNTIME_TIER_1_INSTRUMENTED = 5,

	/* MethodImplAttributes. */
	IMPL_NO_OPTIMIZATION = 0x0040,
	IMPL_AGGRESSIVE_OPTIMIZATION = 0x0200,

	/* CallCountingInfo: which version is counted, and how far. */
	COUNTED_IS_OWN_VERSION = 2,
	COUNTING_DISABLED = 4,

	HASH_MAX_ENTRIES = 1 << 22, /* of all tables */
};

/* Entries of a hash table of the runtime's: a number to look by, and what belongs to it. */
struct clr_pair {
	uint64_t key; /* first: base/sorted.h */
	uint64_t value;
};

/* The methods whose own version is optimised, by loader allocator. */
struct allocator {
	uint64_t at; /* likewise */
	struct clr_pairs optimized;
};

static uint64_t pairs_find(const struct clr_pairs *pairs, uint64_t key)
{
	const struct clr_pair *found = NULL;

	if (pairs->count)
		found = bsearch(&key, pairs->pairs, pairs->count, sizeof(*found),
				by_leading_number);
	return found ? found->value : 0;
}

/* Entries of the hash table at @hash for which @key gives one. */
static void read_hash(struct clr_versions *versions, uint64_t hash,
		      bool (*key_of)(const struct clr *clr, struct look *look, uint64_t entry,
				     uint64_t *key),
		      struct clr_pairs *out)
{
	const struct clr *clr = versions->clr;
	struct look look = look_into(clr->memory);
	uint64_t table = clr_u64(clr, &look, hash, HASH_TABLE);
	uint32_t size = clr_u32(clr, &look, hash, HASH_SIZE);
	_cleanup_free_ uint64_t *entries = NULL;

	if (look.bad || size == 0 || size > HASH_MAX_ENTRIES - versions->hash_entries || !table)
		return;
	versions->hash_entries += size;
	entries = calloc(size, sizeof(*entries));
	out->pairs = calloc(size, sizeof(*out->pairs));
	if (!entries || !out->pairs)
		return;
	look_copy_once(&look, table, entries, size * sizeof(*entries));
	for (uint32_t i = 0; i < size && !look.bad; i++) {
		struct clr_pair *pair = &out->pairs[out->count];
		struct look at_entry = look;

		/* 0: free, ~0: deleted. */
		if (entries[i] == 0 || entries[i] == UINT64_MAX)
			continue;
		pair->value = entries[i];
		if (key_of(clr, &at_entry, entries[i], &pair->key) && !at_entry.bad)
			out->count++;
	}
	if (out->count)
		qsort(out->pairs, out->count, sizeof(*out->pairs), by_leading_number);
}

static bool method_of_state(const struct clr *clr, struct look *look, uint64_t entry, uint64_t *key)
{
	*key = clr_u64(clr, look, entry, VERSIONING_METHOD_DESC);
	return *key != 0 &&
	       (clr_u8(clr, look, entry, VERSIONING_FLAGS) & ~VERSIONING_OWN_IS_ACTIVE) == 0;
}

static bool method_of_optimized(const struct clr *clr, struct look *look, uint64_t entry,
				uint64_t *key)
{
	*key = clr_u64(clr, look, entry, CALL_COUNTING_METHOD);
	return clr_u32(clr, look, entry, CALL_COUNTING_KIND) == COUNTED_IS_OWN_VERSION &&
	       clr_u8(clr, look, entry, CALL_COUNTING_STAGE) == COUNTING_DISABLED;
}

/* The object that variable @number of the table for debuggers points to; 0: there is none. */
static uint64_t find_object(const struct clr *clr, struct look *look, unsigned int number)
{
	if (!number || !clr->dac_table)
		return 0;
	return look_u64(look, look_u64(look, clr->dac_table + 8ull * number));
}

/* .NET 8 keeps the versioning states in a hash table of the application domain. */
static void read_states(struct clr_versions *versions)
{
	const struct clr *clr = versions->clr;
	struct look look = look_into(clr->memory);
	uint64_t domain = find_object(clr, &look, clr->layout.dac_app_domain);

	if (domain && !look.bad)
		read_hash(versions, clr_field(clr, &look, domain, DOMAIN_VERSIONS), method_of_state,
			  &versions->states);
}

static void read_config(struct clr_versions *versions)
{
	const struct clr *clr = versions->clr;
	struct look look = look_into(clr->memory);
	uint64_t config = find_object(clr, &look, clr->layout.dac_config);

	if (!config)
		return;
	versions->never_optimized = clr_u8(clr, &look, config, CONFIG_MIN_OPTS) == 1;
	versions->instruments_at_once = clr_u8(clr, &look, config, CONFIG_PGO) == 1 &&
					clr_u8(clr, &look, config, CONFIG_PGO_ONLY_HOT) == 0;
	if (look.bad)
		versions->never_optimized = versions->instruments_at_once = false;
}

void clr_versions_init(struct clr_versions *versions, const struct clr *clr)
{
	*versions = (struct clr_versions){ .clr = clr };
	read_states(versions);
	read_config(versions);
}

static void allocator_destroy(void *node)
{
	struct allocator *allocator = node;

	free(allocator->optimized.pairs);
	free(allocator);
}

void clr_versions_deinit(struct clr_versions *versions)
{
	tdestroy(versions->allocators, allocator_destroy);
	free(versions->states.pairs);
}

static const struct allocator *allocator_find(struct clr_versions *versions, uint64_t at)
{
	const struct clr *clr = versions->clr;
	struct look look = look_into(clr->memory);
	bool is_new;
	struct allocator *allocator =
		tree_take(&versions->allocators, at, sizeof(*allocator), &is_new);

	/* The table is the counting manager's first member. */
	if (allocator && is_new)
		read_hash(versions, clr_u64(clr, &look, at, ALLOCATOR_CALL_COUNTING),
			  method_of_optimized, &allocator->optimized);
	return allocator;
}

/* Did it come out only after the first compilation that the method was optimised? */
static bool own_is_optimized(struct clr_versions *versions, const struct clr_method *method)
{
	const struct clr *clr = versions->clr;
	struct look look = look_into(clr->memory);
	const struct allocator *allocator;

	/* From .NET 11 on the method knows. */
	if (layout_has(&clr->layout, CODE_DATA_TIER)) {
		uint64_t data = clr_u64(clr, &look, method->desc, METHOD_CODE_DATA);

		return data &&
		       clr_u32(clr, &look, data, CODE_DATA_TIER) == RUNTIME_TIER_OPTIMIZED &&
		       !look.bad;
	}
	allocator = allocator_find(versions, method->module->loader_allocator);
	return allocator && pairs_find(&allocator->optimized, method->desc) != 0;
}

/* The default version's code stands behind the MethodDesc's optional slots. */
static void read_own(const struct clr *clr, struct look *look, uint64_t desc, struct clr_code *code)
{
	uint16_t flags = clr_u16(clr, look, desc, METHOD_FLAGS);
	uint64_t at = desc;

	code->has_slot = flags & METHOD_HAS_CODE_SLOT;
	if (!code->has_slot)
		return;
	at += (flags & METHOD_CLASS_MASK) == METHOD_CLASS_INSTANTIATED ?
		      clr->layout.instantiated_bytes :
		      clr->layout.method_bytes;
	at += flags & METHOD_HAS_VTABLE_OVERRIDE_SLOT ? 8 : 0;
	at += flags & METHOD_HAS_IMPL ? 16 : 0;
	code->own = look_u64(look, at);
}

static uint64_t find_state(struct clr_versions *versions, struct look *look, uint64_t desc)
{
	const struct clr *clr = versions->clr;
	uint64_t data;

	if (!layout_has(&clr->layout, METHOD_CODE_DATA))
		return pairs_find(&versions->states, desc);
	data = clr_u64(clr, look, desc, METHOD_CODE_DATA);
	return data ? clr_u64(clr, look, data, CODE_DATA_VERSIONING) : 0;
}

static void read_list(const struct clr *clr, struct look *look, uint64_t desc, uint64_t node,
		      struct clr_code *code)
{
	while (node && !look->bad) {
		struct clr_version *version;

		if (code->count == CLR_VERSIONS_MAX ||
		    clr_u64(clr, look, node, VERSION_METHOD_DESC) != desc) {
			look->bad = true;
			return;
		}
		version = &code->versions[code->count++];
		version->code = clr_u64(clr, look, node, VERSION_CODE);
		version->id = clr_u32(clr, look, node, VERSION_ID);
		version->tier = clr_u32(clr, look, node, VERSION_TIER);
		version->active = clr_u32(clr, look, node, VERSION_FLAGS) & VERSION_IS_ACTIVE;
		version->rewritten = clr_u64(clr, look, node, VERSION_IL_VERSION) != 0;
		node = clr_u64(clr, look, node, VERSION_NEXT);
	}
}

void clr_code_read(struct clr_versions *versions, const struct clr_method *method,
		   struct clr_code *code)
{
	const struct clr *clr = versions->clr;
	struct look look = look_into(clr->memory);
	uint64_t state;

	*code = (struct clr_code){ .own_active = true };
	if (method->dynamic)
		return;
	read_own(clr, &look, method->desc, code);
	state = find_state(versions, &look, method->desc);
	if (state && !look.bad) {
		code->own_active =
			clr_u8(clr, &look, state, VERSIONING_FLAGS) & VERSIONING_OWN_IS_ACTIVE;
		read_list(clr, &look, method->desc, clr_u64(clr, &look, state, VERSIONING_FIRST),
			  code);
	}
	code->unreadable = look.bad;
}

/* The body that is asked about. */
struct subject {
	struct clr_versions *versions;
	const struct clr_method *method;
	const struct clr_code *code;
	uint64_t start;
	uint32_t size;
};

static uint16_t impl_flags(const struct subject *subject)
{
	const struct metadata *metadata = clr_module_metadata(subject->method->module);

	return metadata ? metadata_method_impl_flags(metadata, subject->method->rid) : 0;
}

static bool is_class_init(const struct subject *subject)
{
	const struct metadata *metadata = clr_module_metadata(subject->method->module);

	return metadata &&
	       strcmp(metadata_method_name(metadata, subject->method->rid), ".cctor") == 0;
}

static enum il_size_class il_size(const struct subject *subject)
{
	return il_size_class(subject->method->module->image, subject->method->rid, subject->size);
}

/* What the JIT itself decided, and wrote down nowhere: a huge method is not optimised. */
static enum tier optimized_or_not(const struct subject *subject, enum tier optimized)
{
	enum il_size_class size;

	if (subject->versions->clr->layout.class_init_is_minopt && is_class_init(subject))
		return TIER_MINOPT;
	size = il_size(subject);
	return size == IL_SMALL ? optimized : size == IL_HUGE ? TIER_MINOPT : TIER_UNKNOWN;
}

/* @kept: the runtime has used it, which it does not with code that the JIT would not optimise. */
static enum tier tier_of_version(const struct subject *subject, uint32_t runtime_tier, bool kept)
{
	switch (runtime_tier) {
	case RUNTIME_TIER_0:
		return il_size(subject) == IL_SMALL ? TIER_TIER0 : TIER_UNKNOWN;
	case RUNTIME_TIER_1:
		return kept ? TIER_TIER1 : optimized_or_not(subject, TIER_TIER1);
	case RUNTIME_TIER_1_OSR:
		return TIER_OSR;
	case RUNTIME_TIER_OPTIMIZED:
		return optimized_or_not(subject, TIER_OPTIMIZED);
	case RUNTIME_TIER_0_INSTRUMENTED:
		return TIER_INSTRUMENTED;
	case RUNTIME_TIER_1_INSTRUMENTED:
		return kept ? TIER_INSTRUMENTED : optimized_or_not(subject, TIER_INSTRUMENTED);
	default:
		return TIER_UNKNOWN;
	}
}

static void read_version(const struct subject *subject, const struct clr_version *version,
			 struct clr_body *body)
{
	const struct clr_code *code = subject->code;
	uint32_t active_id = 0;

	for (size_t i = 0; i < code->count; i++) {
		if (code->versions[i].active)
			active_id = code->versions[i].id;
	}
	body->tier = tier_of_version(subject, version->tier, version->id <= active_id);
	/* With rewritten IL there are several lists, and which one is active is not looked up. */
	if (version->rewritten)
		body->state = STATE_UNKNOWN;
	else if (version->tier == RUNTIME_TIER_1_OSR)
		body->state = STATE_NO_CALLS;
	else if (version->active)
		body->state = STATE_CURRENT;
	else
		body->state = version->id > active_id ? STATE_PENDING : STATE_SUPERSEDED;
	body->final = body->state == STATE_CURRENT &&
		      (version->tier == RUNTIME_TIER_1 || version->tier == RUNTIME_TIER_OPTIMIZED);
}

/* The method's own, first version. */
static void read_own_version(const struct subject *subject, struct clr_body *body)
{
	struct clr_versions *versions = subject->versions;
	bool active = subject->code->own_active;

	body->state = active ? STATE_CURRENT : STATE_SUPERSEDED;
	if (versions->clr->layout.aggressive_is_tiered &&
	    impl_flags(subject) & IMPL_AGGRESSIVE_OPTIMIZATION) {
		body->tier = optimized_or_not(subject, TIER_TIER1);
		body->final = active;
	} else if (own_is_optimized(versions, subject->method)) {
		body->tier = optimized_or_not(subject, TIER_OPTIMIZED);
		body->final = active;
	} else if (il_size(subject) != IL_SMALL) {
		body->tier = TIER_UNKNOWN; /* the JIT may have gone back and forth over it */
	} else {
		body->tier = versions->instruments_at_once ? TIER_INSTRUMENTED : TIER_TIER0;
	}
}

/* Code that is not tiered: it is compiled once. */
static void read_untiered(const struct subject *subject, struct clr_body *body)
{
	const struct clr_code *code = subject->code;

	/* Without a slot there is just this one. */
	if (code->has_slot && code->own != subject->start)
		return;
	if (subject->versions->never_optimized || !subject->method->module->optimized ||
	    impl_flags(subject) & IMPL_NO_OPTIMIZATION)
		body->tier = TIER_MINOPT;
	else
		body->tier = optimized_or_not(subject, TIER_OPTIMIZED);
	body->state = code->own_active ? STATE_CURRENT : STATE_SUPERSEDED;
	body->final = code->own_active;
}

static void read_dynamic(const struct subject *subject, struct clr_body *body)
{
	const struct clr_module *module = subject->method->type->module;
	bool plain = subject->versions->never_optimized || (module && !module->optimized);

	*body = (struct clr_body){ plain ? TIER_MINOPT : TIER_OPTIMIZED, STATE_CURRENT, true };
}

void clr_body_read(struct clr_versions *versions, const struct clr_method *method,
		   const struct clr_code *code, struct address start, uint32_t size,
		   struct clr_body *body)
{
	const struct subject subject = { versions, method, code, start.value, size };

	*body = (struct clr_body){ .tier = TIER_UNKNOWN, .state = STATE_UNKNOWN };
	if (code->unreadable)
		return;
	if (method->dynamic || !method->module) {
		read_dynamic(&subject, body);
		return;
	}
	for (size_t i = 0; i < code->count; i++) {
		if (code->versions[i].code == start.value) {
			read_version(&subject, &code->versions[i], body);
			return;
		}
	}
	if (!method->tiered)
		read_untiered(&subject, body);
	else if (code->has_slot && code->own == start.value)
		read_own_version(&subject, body);
}
