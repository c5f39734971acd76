// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names of raw frames: finds where each is in the target, asks the runtimes, and remembers what
 * they have answered. stack.c makes stacks of the answers.
 */
#include "stack/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bpf/event.h"
#include "target/target.h"
#include "target/vdso.h"

enum {
	CACHE_WAYS = 4,	   /* answers with one hash */
	CACHE_SETS = 2048, /* a power of two */
	CACHE_SLOTS = CACHE_WAYS * CACHE_SETS,
	REREAD_MS = 200,   /* do not read the maps more often than this */
	REREAD_PAUSE = 20, /* nor for more than one part in so many of our time */
	NEW_PAUSE = 2,	   /* if it has brought something */
};

struct cached {
	uint64_t pc;
	uint64_t method;
	uint32_t code_version;
	bool return_address;
	bool used;
	bool has_v8;
	bool by_pc; /* these are as in struct named_frames */
	bool by_object;
	bool by_outer;
	struct raw_v8 v8;
	struct symbols_answer *answer;
};

struct symbols {
	struct symbol_sources sources;
	uint64_t version;	       /* that the cache is of, see symbols_version() */
	const uint32_t *code_versions; /* NULL: not known */
	uint64_t again_ms;
	unsigned int next_way;		  /* to be replaced, where all are in use */
	uint64_t filled[CACHE_SETS / 64]; /* a bit for each set: the others are not looked at */
	struct cached cache[CACHE_SLOTS];
};

static void destroy_namers(const struct symbol_sources *sources)
{
	for (size_t i = 0; i < sources->namer_count; i++)
		sources->namers[i].destroy(sources->namers[i].ctx);
}

int symbols_create(struct symbols **out, const struct symbol_sources *sources, struct error *err)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	*out = symbols;
	if (!symbols) {
		destroy_namers(sources);
		return error_set(err, -ENOMEM, "no memory for symbols");
	}
	symbols->sources = *sources;
	return 0;
}

void symbols_watch_codes(struct symbols *symbols, const uint32_t *versions)
{
	symbols->code_versions = versions;
}

void symbols_release(struct symbols_answer *answer)
{
	if (!answer || --answer->users)
		return;
	for (size_t i = 0; i < answer->count; i++)
		free(answer->frames[i].rendering ? answer->frames[i].rendering->text : NULL);
	free(answer);
}

/* The first slot from @slot on that is of a set which something has come into; or CACHE_SLOTS. */
static size_t next_filled(const struct symbols *symbols, size_t slot)
{
	for (; slot < CACHE_SLOTS; slot += CACHE_WAYS - slot % CACHE_WAYS) {
		size_t set = slot / CACHE_WAYS;

		if (symbols->filled[set / 64] >> set % 64 & 1)
			return slot;
	}
	return CACHE_SLOTS;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = next_filled(symbols, 0); i < CACHE_SLOTS; i = next_filled(symbols, i + 1))
		symbols_release(symbols->cache[i].answer);
	destroy_namers(&symbols->sources);
	free(symbols);
}

/* Looking up ---------------------------------------------------------------------------------- */

/* The target maps more as it runs: look again, but not for every odd address. */
static const struct mapping *find_mapping(struct symbols *symbols, struct address address)
{
	const struct symbol_sources *sources = &symbols->sources;
	const struct mapping *row = maps_find(target_maps(sources->target), address);
	uint64_t now = clock_now_ms(), took;
	bool is_new;

	/* What was not code then has been mapped over. */
	if ((!row || !row->executable) && now >= symbols->again_ms) {
		is_new = sources->refresh(sources->ctx);
		took = clock_now_ms() - now;
		symbols->again_ms = now + REREAD_MS + (is_new ? NEW_PAUSE : REREAD_PAUSE) * took;
	}
	return target_find_mapping(sources->target, address);
}

static void place(struct symbols *symbols, struct raw_frame *raw)
{
	const struct symbol_sources *sources = &symbols->sources;

	raw->row = find_mapping(symbols, raw->look_at);
	if (!raw->row)
		return;
	if (raw->row->inode != 0 && !raw->row->shared) {
		raw->place = RAW_IN_FILE;
		raw->file = target_find_file(sources->target, raw->row);
	} else {
		raw->place = strcmp(raw->row->path, VDSO_PATH) == 0 ? RAW_IN_VDSO : RAW_IN_MEMORY;
	}
}

static void ask(struct symbols *symbols, const struct raw_frame *raw, struct named_frames *named)
{
	const struct symbol_sources *sources = &symbols->sources;

	for (size_t i = 0; i < sources->namer_count && !named->count; i++)
		sources->namers[i].name(sources->namers[i].ctx, raw, named);
}

static void look_up(struct symbols *symbols, const struct event_frame *at, const struct raw_v8 *v8,
		    bool return_address, struct named_frames *named)
{
	unsigned int step = return_address ? 1 : 0;
	struct raw_frame raw = {
		.pc = { at->pc },
		.look_at = { at->pc - step },
		.step = step,
		.method = v8 ? 0 : at->method,
		.offset = at->offset,
		.funclet = (at->flags & EVENT_FRAME_FUNCLET) != 0,
		.v8 = v8,
	};

	named->count = 0;
	named->transient = false;
	named->by_pc = named->by_object = named->by_outer = false;
	if (raw.method)
		ask(symbols, &raw, named);
	raw.method = 0;
	if (!named->count) {
		place(symbols, &raw);
		ask(symbols, &raw, named);
	}
	if (!named->count)
		named_frames_only(named);
	/* Code of the engine, which no function of the user's is in. */
	for (size_t i = 0; i < named->count; i++) {
		if (v8 && named->frames[i].kind == FRAME_NATIVE)
			named->frames[i].kind = FRAME_STUB;
		named->frames[i].address = raw.pc;
	}
}

/* Remembering --------------------------------------------------------------------------------- */

uint64_t symbols_version(const struct symbols *symbols)
{
	const struct symbol_sources *sources = &symbols->sources;
	uint64_t version = *sources->version;

	for (size_t i = 0; i < sources->namer_count; i++) {
		if (sources->namers[i].version)
			version += sources->namers[i].version(sources->namers[i].ctx);
	}
	return version;
}

/* Frames in the cache may name what is no longer there. */
static void forget_outdated(struct symbols *symbols)
{
	uint64_t version = symbols_version(symbols);

	if (symbols->version == version)
		return;
	for (size_t i = next_filled(symbols, 0); i < CACHE_SLOTS; i = next_filled(symbols, i + 1))
		symbols->cache[i].used = false;
	symbols->version = version;
}

void symbols_begin(struct symbols *symbols)
{
	const struct symbol_sources *sources = &symbols->sources;

	forget_outdated(symbols);
	for (size_t i = 0; i < sources->namer_count; i++) {
		if (sources->namers[i].begin)
			sources->namers[i].begin(sources->namers[i].ctx);
	}
}

static size_t string_bytes(const char *string)
{
	return string ? strlen(string) + 1 : 0;
}

/* Those of a frame that were found with it; others are constants. */
static size_t strings_bytes(const struct frame *frame)
{
	return string_bytes(frame->name) + string_bytes(frame->module) +
	       string_bytes(frame->source) + string_bytes(frame->made_from);
}

/* Copy @string to *@to, which goes behind it. */
static const char *keep_string(char **to, const char *string)
{
	size_t bytes = string_bytes(string);
	const char *kept = *to;

	if (!string)
		return NULL;
	memcpy(*to, string, bytes);
	*to += bytes;
	return kept;
}

/* What they were found in may change with the next lookup. */
static struct symbols_answer *keep_answer(const struct named_frames *named, bool kept)
{
	size_t each = sizeof(struct frame) + sizeof(struct rendering);
	size_t bytes = sizeof(struct symbols_answer) + named->count * each;
	struct symbols_answer *answer;
	struct rendering *renderings;
	char *strings;

	for (size_t i = 0; i < named->count; i++)
		bytes += strings_bytes(&named->frames[i]);
	answer = malloc(bytes);
	if (!answer)
		return NULL;
	answer->users = 1;
	answer->kept = kept;
	answer->count = named->count;
	renderings = (struct rendering *)&answer->frames[named->count];
	memset(renderings, 0, named->count * sizeof(*renderings));
	strings = (char *)&renderings[named->count];
	for (size_t i = 0; i < named->count; i++) {
		answer->frames[i] = named->frames[i];
		answer->frames[i].rendering = kept ? &renderings[i] : NULL;
		answer->frames[i].name = keep_string(&strings, named->frames[i].name);
		answer->frames[i].module = keep_string(&strings, named->frames[i].module);
		answer->frames[i].source = keep_string(&strings, named->frames[i].source);
		answer->frames[i].made_from = keep_string(&strings, named->frames[i].made_from);
	}
	return answer;
}

/*
 * Is it the same function at the same place, as far as its name goes? The collector moves what it
 * was called on, but not the Map of that.
 */
static bool is_same_v8(const struct cached *slot, const struct raw_v8 *b)
{
	const struct raw_v8 *a = &slot->v8;
	const struct event_v8 *x = &a->noted, *y = &b->noted;

	/* Optimised code has anything where others have these. */
	if (!slot->by_pc && (a->offset != b->offset || x->bytecodes != y->bytecodes))
		return false;
	if (slot->by_object && (a->moves.all != b->moves.all || x->receiver != y->receiver))
		return false;
	if (slot->by_outer && (a->outer_pc != b->outer_pc || a->outer_code != b->outer_code))
		return false;
	return a->outer_marker == b->outer_marker && a->marked == b->marked &&
	       a->has_function == b->has_function && a->moves.old == b->moves.old &&
	       x->script_id == y->script_id && x->literal_id == y->literal_id &&
	       x->shared == y->shared && x->receiver_map == y->receiver_map && x->code == y->code &&
	       a->isolate == b->isolate;
}

uint32_t symbols_code_version(const struct symbols *symbols, const struct event_frame *at)
{
	const uint32_t *versions = symbols->code_versions;

	return at->method && versions ? versions[merge_code(at->pc - at->offset)] : 0;
}

static bool is_cached(const struct cached *slot, const struct event_frame *at,
		      const struct raw_v8 *v8, bool return_address)
{
	return slot->used && slot->pc == at->pc && slot->return_address == return_address &&
	       slot->has_v8 == (v8 != NULL) &&
	       (v8 ? is_same_v8(slot, v8) : slot->method == at->method);
}

/* All interpreted functions have few addresses, and the same one is called on different things. */
static struct cached *set_of(struct symbols *symbols, const struct event_frame *at,
			     const struct raw_v8 *v8, bool by_pc)
{
	uint64_t key = at->pc;

	if (v8)
		key ^= v8->noted.shared << 13 ^ v8->noted.receiver_map << 29 ^
		       (by_pc ? 0 : v8->offset + 1ULL) << 43;
	/* Any odd number with many bits. */
	key = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;
	return &symbols->cache[key % CACHE_SETS * CACHE_WAYS];
}

static struct cached *find_in(const struct symbols *symbols, struct cached *set,
			      const struct event_frame *at, const struct raw_v8 *v8,
			      bool return_address)
{
	for (size_t i = 0; i < CACHE_WAYS; i++) {
		if (is_cached(&set[i], at, v8, return_address) &&
		    (v8 || set[i].code_version == symbols_code_version(symbols, at)))
			return &set[i];
	}
	return NULL;
}

/* One that is not in use, or any. */
static struct cached *slot_of(struct symbols *symbols, struct cached *set)
{
	for (size_t i = 0; i < CACHE_WAYS; i++) {
		if (!set[i].used)
			return &set[i];
	}
	return &set[symbols->next_way++ % CACHE_WAYS];
}

static struct cached *fill(struct symbols *symbols, const struct event_frame *at,
			   const struct raw_v8 *v8, bool return_address)
{
	struct named_frames named;
	const struct frame *first = &named.frames[0];
	uint32_t code_version = symbols_code_version(symbols, at);
	struct cached *slot;
	size_t set;

	look_up(symbols, at, v8, return_address, &named);
	/* What is mapped may have been looked at anew for it. */
	forget_outdated(symbols);
	if (first->kind == FRAME_UNKNOWN && (at->flags & EVENT_FRAME_STUB))
		named.frames[0].kind = FRAME_STUB;
	slot = slot_of(symbols, set_of(symbols, at, v8, named.by_pc));
	set = (size_t)(slot - symbols->cache) / CACHE_WAYS;
	symbols->filled[set / 64] |= UINT64_C(1) << set % 64;
	symbols_release(slot->answer);
	/* What has no name yet may have one once the target has written it down. */
	slot->answer = keep_answer(&named, !named.transient && (first->name || first->module));
	slot->pc = at->pc;
	slot->method = at->method;
	slot->code_version = code_version;
	slot->return_address = return_address;
	slot->has_v8 = v8 != NULL;
	slot->by_pc = named.by_pc;
	slot->by_object = named.by_object;
	slot->by_outer = named.by_outer;
	if (v8)
		slot->v8 = *v8;
	slot->used = slot->answer && slot->answer->kept;
	return slot;
}

struct symbols_answer *symbols_name(struct symbols *symbols, const struct event_frame *at,
				    const struct raw_v8 *v8, bool return_address)
{
	struct cached *slot =
		find_in(symbols, set_of(symbols, at, v8, true), at, v8, return_address);

	if (v8 && !slot)
		slot = find_in(symbols, set_of(symbols, at, v8, false), at, v8, return_address);
	if (!slot)
		slot = fill(symbols, at, v8, return_address);
	if (slot->answer)
		slot->answer->users++;
	return slot->answer;
}
