// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lets src/stack/ name JavaScript frames: from what the walk has noted (struct raw_v8), and how
 * much of it still holds, to frame.h and back. The collector moves objects meanwhile; how often it
 * has is counted by a program in the target, so that it is known what may still be where it was.
 */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "runtime/frame.h"
#include "runtime/v8/function.h"
#include "runtime/v8/remembered.h"
#include "runtime/v8/script_maps.h"
#include "runtime/v8/v8.h"
#include "target/memory.h"

struct v8_names {
	const struct v8 *v8;
	struct memory *memory;	    /* forgotten before each stack; NULL: not needed yet */
	struct event_moves read_at; /* since when it is remembered: it is of one moment so */
	uint64_t wait_ms;	    /* from when on await_end() may wait again */
	struct v8_namer *namer;
	struct v8_frames frames;
	struct v8_frames plain; /* to be remembered */
	struct v8_remembered remembered;
	struct text stub;
	struct script_maps maps;
	struct text sources[V8_FRAMES_MAX]; /* by maps, of the frames that are named */
	/* Of a version that is not in the table: do its structures fit? */
	bool checked;
	bool fits;
};

_Static_assert((int)V8_FRAMES_MAX <= (int)NAMED_FRAMES_MAX, "there is room for all");

/* How often objects have moved by now; zeros: nobody counts. */
static struct event_moves count_moves(const struct v8 *v8)
{
	const volatile struct moves_now *now = v8->moves;

	return now ? (struct event_moves){ now->count.all, now->count.old } :
		     (struct event_moves){ 0, 0 };
}

static bool is_moving(const struct v8 *v8)
{
	const volatile struct moves_now *now = v8->moves;

	return now && now->running > 0;
}

static bool is_same_count(const struct event_moves *a, const struct event_moves *b)
{
	return a->all == b->all && a->old == b->old;
}

/* Where an object that has moved is by now: its first word says so until the next collection. */
static uint64_t follow_once(const struct v8_heap *heap, uint64_t object)
{
	uint64_t first = v8_is_object(object) ? v8_word(heap, object, 0) : 0;

	return first && first % 8 == 0 ? first + 1 : object;
}

/* Is what was before @pc still there? */
static bool is_same_code(const struct v8_heap *heap, struct address pc, uint64_t code)
{
	uint64_t words[EVENT_V8_CODE_WORDS];
	struct look look = look_into(heap->memory);

	look_copy(&look, pc.value - sizeof(words), words, sizeof(words));
	return !look.bad && event_v8_code((const __u64 *)words) == code;
}

/* No object of the program's, and so one that never moves: undefined, null, a boolean, a number. */
static bool stays(const struct v8_heap *heap, uint64_t receiver)
{
	return v8_is_smi(receiver) || v8_is(heap, receiver, V8_TYPE_ODDBALL);
}

/*
 * What is still known of what may have been young, and moves with each collection; @once: there
 * was no more than one. Then other objects may be where these were, of the same Map, too. @often:
 * there were more, and the function may be a copy that was left behind and looks as it did, while
 * what it refers to has been written over. False if something was lost.
 */
static bool find_moved(const struct v8_heap *heap, bool once, bool often, struct v8_raw *raw)
{
	bool had_function = raw->function != 0, had_receiver = raw->receiver != 0;

	if (once)
		raw->function = follow_once(heap, raw->function);
	else if (often)
		raw->function = 0;
	if (!v8_is_function(heap, raw->function) ||
	    v8_field(heap, raw->function, V8_FUNCTION_SHARED) != raw->shared)
		raw->function = 0;
	if (!stays(heap, raw->receiver)) {
		raw->receiver = once ? follow_once(heap, raw->receiver) : 0;
		if (v8_word(heap, raw->receiver, 0) != raw->receiver_map)
			raw->receiver = 0;
	}
	raw->moved = had_function && !raw->function;
	return had_function == (raw->function != 0) && had_receiver == (raw->receiver != 0);
}

/*
 * What holds of it at the count @now. Old objects move seldom, and few of them. If they have, the
 * function is held against its numbers or found by them, and what is not sure to be the same is
 * left out. False if something was lost that the name may depend on.
 */
static bool settle(const struct v8_names *names, const struct raw_v8 *noted,
		   const struct event_moves *now, struct v8_raw *raw)
{
	/* A collection counts twice, when it begins and when it ends. */
	enum { ONE = 2 };
	const struct v8_heap heap = { names->memory, &names->v8->engine.layout };
	bool old = now->old != noted->moves.old, counted = now->all && noted->moves.all, whole;
	bool once = counted && !old && now->all - noted->moves.all <= ONE;

	if (counted && is_same_count(now, &noted->moves))
		return true;
	raw->stale = counted;
	whole = find_moved(&heap, once, counted && !once, raw);
	if (counted && !old)
		return whole;
	raw->aged = counted;
	raw->unsure = !is_same_code(&heap, raw->pc, noted->noted.code);
	raw->outer_unsure = !is_same_code(&heap, raw->outer_pc, noted->outer_code);
	raw->bytecodes = 0;
	if (!v8_is(&heap, raw->receiver, V8_TYPE_ODDBALL))
		raw->receiver_map = 0;
	return whole;
}

static void make_raw(const struct raw_frame *frame, struct v8_raw *raw)
{
	const struct raw_v8 *v8 = frame->v8;

	raw->innermost = frame->step == 0;
	raw->marker = v8->marked ? v8->offset : 1; /* an object */
	raw->offset = v8->offset == EVENT_V8_NO_OFFSET ? 1 : (uint64_t)v8->offset << 32;
	if (!v8->has_function)
		return;
	raw->function = v8->function;
	raw->shared = v8->noted.shared;
	raw->bytecodes = v8->noted.bytecodes;
	raw->receiver = v8->noted.receiver;
	raw->receiver_map = v8->noted.receiver_map;
	raw->isolate = v8->isolate;
	raw->script_id = v8->noted.script_id;
	raw->literal_id = v8->noted.literal_id;
}

/* The caller's code says how it calls, if it is not in a file. */
static void place_outer(const struct v8 *v8, const struct raw_v8 *noted, struct v8_raw *raw)
{
	struct v8_raw outer = { .pc = { noted->outer_pc } };

	if (!noted->outer_pc || !v8_engine_place(&v8->engine, &outer) || outer.place != V8_IN_HEAP)
		return;
	raw->outer_pc = outer.pc;
	raw->outer_lowest = outer.lowest;
}

/* Does what is read of a V8 that is not in the table make sense? Asked once, of an isolate. */
static bool is_understood(struct v8_names *names, const struct v8_raw *raw)
{
	const struct v8_heap heap = { names->memory, &names->v8->engine.layout };

	if (!heap.layout->guessed)
		return true;
	if (!names->checked && raw->isolate) {
		names->fits = v8_layout_fits(&heap, raw->isolate);
		names->checked = true;
	}
	return names->fits;
}

static void take_frame(struct v8_names *names, const struct v8_frame *from, bool framed,
		       struct frame *to)
{
	static const enum frame_kind kinds[] = {
		[V8_UNKNOWN] = FRAME_UNKNOWN,
		[V8_FUNCTION] = FRAME_V8,
		[V8_STUB] = FRAME_STUB,
	};

	*to = (struct frame){
		.kind = kinds[from->kind],
		.inlined = from->inlined,
		.framed = framed,
		.name = from->name,
		.source = from->script,
		.line = from->line,
		.column = from->column,
		.tier = from->kind == V8_FUNCTION ? v8_tier_name(from->tier) : NULL,
		.moved = from->reason == V8_MOVED || from->reason == V8_NO_CODE,
	};
	if (names->v8->others->lines == LINES_NONE) {
		to->source = NULL;
		to->line = to->column = 0;
	}
	if (from->kind == V8_FUNCTION)
		return;
	to->module = names->v8->engine.file->name;
	if (from->kind != V8_STUB || from->tier != V8_TIER_NONE)
		return;
	text_clear(&names->stub);
	text_printf(&names->stub, "[%s%sframe]", from->name ? from->name : "",
		    from->name ? " " : "");
	to->name = text_chars(&names->stub);
}

/* Where the source has maps, and they are asked for: the line that frame number @i was made of. */
static void take_source(struct v8_names *names, const struct v8_raw *raw,
			const struct v8_frame *from, size_t i, struct frame *frame)
{
	struct text *source = &names->sources[i];
	struct source_position position;

	text_clear(source);
	if (names->v8->others->lines != LINES_BY_SOURCE_MAPS)
		return;
	names->maps.namer = names->namer;
	if (!script_maps_translate(&names->maps, raw->isolate, from, &position, source))
		return;
	frame->source = text_chars(source);
	frame->line = position.line;
	frame->column = position.column;
}

/*
 * While objects are being moved much of it cannot be read, and the thread waits for that as well;
 * not for more than half of the time, since others may go on.
 */
static void await_end(struct v8_names *names)
{
	enum { STEP_NS = 100000, MOST_MS = 20 };
	const struct timespec step = { .tv_nsec = STEP_NS };
	uint64_t begin_ms = clock_now_ms(), now_ms = begin_ms;

	if (begin_ms < names->wait_ms)
		return;
	while (is_moving(names->v8) && now_ms - begin_ms < MOST_MS) {
		nanosleep(&step, NULL);
		now_ms = clock_now_ms();
	}
	names->wait_ms = now_ms + (now_ms - begin_ms);
}

/* What was read when objects were elsewhere does not go with what is read now. */
static struct event_moves begin_reading(struct v8_names *names)
{
	struct event_moves now = count_moves(names->v8);

	if (!is_same_count(&now, &names->read_at))
		memory_forget(names->memory);
	/* A script that is gone may still look as it did. */
	if (now.old != names->read_at.old)
		v8_namer_forget_places(names->namer);
	names->read_at = now;
	return now;
}

static bool is_whole(const struct v8_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++) {
		if (frames->frames[i].reason != V8_NO_REASON)
			return false;
	}
	return true;
}

/* Its line may have been lost with what has moved. */
static void blame_moves(struct v8_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++) {
		if (frames->frames[i].reason == V8_NO_POSITION)
			frames->frames[i].reason = V8_MOVED;
	}
}

/*
 * Was what has been named alive then? During a collection what is found to be dead is taken off the
 * list of scripts before anything is written over it, so: if it is still on the list.
 */
static bool still_lives(struct v8_names *names, const struct v8_raw *raw)
{
	if (!raw->aged || !raw->script_id)
		return true;
	memory_forget(names->memory);
	v8_namer_forget_places(names->namer);
	return v8_namer_has_function(names->namer, raw);
}

/*
 * False if objects have moved all the while: names are what could be read all the same. @whole:
 * nothing of it was lost.
 */
static bool name_by_raw(struct v8_names *names, const struct raw_v8 *noted,
			const struct v8_raw *raw, struct v8_raw *settled, bool *whole)
{
	enum { ATTEMPTS = 4 };
	bool moving, told, same = false, sure = false;

	/* Once more if they move while names are read. */
	for (int i = 0; i < ATTEMPTS; i++) {
		struct event_moves now, then;

		*settled = *raw;
		await_end(names);
		moving = settled->moving = is_moving(names->v8);
		now = begin_reading(names);
		*whole = settle(names, noted, &now, settled);
		v8_namer_name(names->namer, settled, &names->frames);
		told = is_whole(&names->frames);
		*whole &= told && !names->frames.plain;
		if (!is_same_count(&now, &noted->moves))
			blame_moves(&names->frames);
		then = count_moves(names->v8);
		same = is_same_count(&now, &then);
		sure = same && (!moving || still_lives(names, settled));
		/* A plain name is better than what is read of it later. */
		if (sure && (!moving || *whole || (told && names->frames.plain)))
			return true;
	}
	if (!sure)
		v8_frames_lose(&names->frames);
	return false;
}

/* By what the frame is told wherever objects are moved; false: by nothing. */
static bool identify(const struct raw_v8 *noted, const struct v8_raw *raw, bool by_pc,
		     struct v8_frame_id *id)
{
	const struct event_v8 *at = &noted->noted;
	bool in_blob = raw->place == V8_IN_BLOB;

	*id = (struct v8_frame_id){
		.isolate = noted->isolate,
		.pc = raw->pc.value,
		.code = at->code,
		.offset = by_pc ? 0 : noted->offset + 1ULL,
		.script_id = at->script_id,
		.literal_id = at->literal_id,
		.construct = raw->construct,
	};
	return noted->has_function && !noted->marked && noted->isolate && at->code &&
	       (in_blob || at->script_id);
}

/* Nothing was lost of it, at the count that is read at. */
static void remember(struct v8_names *names, const struct raw_v8 *noted,
		     const struct v8_raw *settled)
{
	struct v8_raw plain = *settled;
	struct v8_frame_id id;
	struct event_moves now;

	if (!identify(noted, settled, names->frames.by_pc, &id) || names->frames.by_outer)
		return;
	/* Of builtins several functions may have the same code. */
	if (id.script_id && !v8_remembered_lacks(&names->remembered, &id))
		return;
	plain.function = plain.receiver = plain.receiver_map = 0;
	plain.moved = plain.stale = true;
	v8_namer_name(names->namer, &plain, &names->plain);
	now = count_moves(names->v8);
	if (is_whole(&names->plain) && is_same_count(&now, &names->read_at) &&
	    !is_moving(names->v8))
		v8_remembered_add(&names->remembered, &id, &names->plain);
}

static const struct v8_frame *recall(const struct v8_names *names, const struct raw_v8 *noted,
				     const struct v8_raw *raw, size_t *count)
{
	const struct v8_frame *frames = NULL;
	struct v8_frame_id id;

	for (int by_pc = 0; !frames && by_pc <= 1; by_pc++) {
		if (identify(noted, raw, by_pc, &id))
			frames = v8_remembered_get(&names->remembered, &id, count);
	}
	return frames;
}

/* Where its code is; false: it is no code of V8's. */
static bool place(const struct v8 *v8, const struct raw_frame *frame, struct v8_raw *raw)
{
	/* Of V8's heap (kPageSizeBits, src/common/globals.h); those of code are no smaller. */
	const uint64_t page = 1 << 18;
	const struct mapping *row;

	if (v8_engine_place(&v8->engine, raw))
		return true;
	/* A new page is not known yet, one that is gone no more. */
	row = maps_find(target_maps(v8->target), raw->pc);
	raw->place = V8_IN_HEAP;
	raw->lowest.value = raw->pc.value & ~(page - 1);
	return frame->v8->has_function && (!row || (!row->inode && !row->path[0]));
}

static void name_frame(void *ctx, const struct raw_frame *frame, struct named_frames *named)
{
	struct v8_names *names = ctx;
	const struct v8 *v8 = names->v8;
	struct v8_raw raw = { .pc = frame->pc }, settled;
	const struct v8_frame *frames = NULL;
	bool whole, still, framed;

	if (!frame->v8 || !v8->present || !place(v8, frame, &raw))
		return;
	if (!names->memory && memory_open(&names->memory, &v8->target->process, NULL))
		return;
	if (!names->namer &&
	    v8_namer_create(&names->namer, names->memory, &v8->engine.layout, NULL))
		return;
	make_raw(frame, &raw);
	raw.construct = v8_marker_constructs(&v8->engine.layout, frame->v8->outer_marker);
	place_outer(v8, frame->v8, &raw);
	if (!is_understood(names, &raw))
		return;
	still = name_by_raw(names, frame->v8, &raw, &settled, &whole);
	if (still && whole)
		remember(names, frame->v8, &settled);
	else if (!is_whole(&names->frames))
		frames = recall(names, frame->v8, &raw, &named->count);
	if (!frames) {
		frames = names->frames.frames;
		named->count = names->frames.count;
	}
	named->by_pc = names->frames.by_pc;
	named->by_object = names->frames.by_object;
	named->by_outer = names->frames.by_outer;
	framed = raw.place == V8_IN_BLOB || v8_is_alone(v8, target_maps(v8->target));
	for (size_t i = 0; i < named->count; i++) {
		take_frame(names, &frames[i], framed, &named->frames[i]);
		take_source(names, &raw, &frames[i], i, &named->frames[i]);
	}
	/* What is lost of one moment stays so. */
	named->by_object |= !whole;
	named->transient = !still || (!whole && !frame->v8->moves.all);
}

static void begin(void *ctx)
{
	struct v8_names *names = ctx;

	if (names->memory)
		memory_forget(names->memory);
}

static void destroy(void *ctx)
{
	struct v8_names *names = ctx;

	for (size_t i = 0; i < V8_FRAMES_MAX; i++)
		text_deinit(&names->sources[i]);
	script_maps_deinit(&names->maps);
	text_deinit(&names->frames.strings);
	text_deinit(&names->plain.strings);
	v8_remembered_deinit(&names->remembered);
	v8_namer_destroy(names->namer);
	memory_destroy(names->memory);
	text_deinit(&names->stub);
	free(names);
}

int v8_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err)
{
	struct v8_names *names = calloc(1, sizeof(*names));

	if (!names)
		return error_set(err, -ENOMEM, "no memory for names of JavaScript frames");
	names->v8 = (const struct v8 *)runtime;
	names->maps.process = &names->v8->target->process;
	*namer = (struct frame_namer){
		.name = name_frame, .begin = begin, .destroy = destroy, .ctx = names
	};
	return 0;
}
