/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder for V8's code, of builtins and compiled at run time: it keeps frame pointers, and
 * says on the stack which function a frame is of, or by a marker what else it is. That is noted,
 * with what tells the function wherever the collector moves it.
 *
 * Source of the frames: V8's src/execution/frame-constants.h, src/builtins/x64/builtins-x64.cc.
 */
#ifndef BPF_UNWIND_V8_BPF_H
#define BPF_UNWIND_V8_BPF_H

/* From a frame's pointer. */
enum {
	V8_AT_OFFSET = -40,
	V8_AT_BYTECODES = -32,
	V8_AT_FUNCTION = -16,
	V8_AT_MARKER = -8, /* or a Context, which is an object */
	V8_AT_CALLER = 0,  /* its pointer */
	V8_AT_RETURN = 8,
	V8_AT_RECEIVER = 16,
	V8_AT_EXIT_FUNCTION = 24, /* of a builtin's exit frame */
};

struct unwind_v8 unwind_v8; /* written before the first walk that meets such a frame */

/*
 * Functions that were seen since objects have moved last, by their address. As with known_frames
 * anyone writes it at any time, and the tag is of all of it.
 */
ARRAY_MAP(known_functions, KNOWN_FRAMES, struct known_function);

static __always_inline bool v8_is_smi(__u64 value)
{
	return !(value & 1);
}

static __always_inline __u64 tag_of_function(__u64 function, const struct known_function *known,
					     __u32 moves)
{
	return function ^ known->shared * 0x9e3779b97f4a7c15ULL ^
	       known->ids * 0xbf58476d1ce4e5b9ULL ^ (moves + 1ULL) * 0x94d049bb133111ebULL;
}

/* Which function walk->v8.function is, into .found; nothing where that cannot be read. */
__noinline int read_function(struct walk *walk)
{
	__u64 shared, word;
	__u32 literal;

	if (!walk || !read_word(walk->v8.function + (__s64)unwind_v8.function_shared_at, &shared))
		return 0;
	walk->v8.found.shared = shared;
	if (!read_word(shared + (__s64)unwind_v8.shared_data_at, &word))
		return 0;
	if (v8_is_smi(word) && unwind_v8.shared_untrusted_at != (__s32)UNWIND_NO_FIELD &&
	    !read_word(shared + (__s64)unwind_v8.shared_untrusted_at, &word))
		return 0;
	/* A builtin, which is in no script. */
	if (v8_is_smi(word))
		return 0;
	if (!read_word(shared + (__s64)unwind_v8.shared_script_at, &word) ||
	    bpf_probe_read_user(&literal, sizeof(literal),
				(void *)(shared + (__s64)unwind_v8.shared_literal_at)) ||
	    !read_word(word + (__s64)unwind_v8.script_id_at, &word) || (__u32)word)
		return 0;
	walk->v8.found.ids = word >> 32 | (__u64)literal << 32;
	return 0;
}

/* The same, or what was found since objects have moved last. */
static __always_inline void find_function(struct walk *walk)
{
	__u64 function = walk->v8.function;
	__u32 key = (__u32)(function >> 3 ^ function >> 15) & (KNOWN_FRAMES - 1);
	struct known_function *known = bpf_map_lookup_elem(&known_functions, &key);
	__u32 moves = walk->event.moves.all;

	if (!known)
		return;
	walk->v8.found = *known;
	if (moves && walk->v8.found.tag == tag_of_function(function, &walk->v8.found, moves))
		return;
	walk->v8.found.shared = walk->v8.found.ids = 0;
	read_function(walk);
	walk->v8.found.tag = tag_of_function(function, &walk->v8.found, moves);
	if (moves)
		*known = walk->v8.found;
}

/* The isolate that this thread is in; 0: in none, or it is not known where that is said. */
__noinline int find_isolate(struct walk *walk)
{
	__u64 word = 0;

	if (!walk || walk->isolate_known)
		return 0;
	walk->isolate_known = true;
	walk->event.isolate = 0;
	if (!thread_pointer_at || unwind_v8.isolate_at == UNWIND_NO_ISOLATE ||
	    bpf_probe_read_kernel(&word, sizeof(word),
				  (void *)(bpf_get_current_task() + thread_pointer_at)) ||
	    !word || !read_word(word + (__s64)unwind_v8.isolate_at, &word))
		return 0;
	walk->event.isolate = word;
	return 0;
}

static __always_inline __u64 code_before(__u64 pc)
{
	__u64 words[EVENT_V8_CODE_WORDS];

	if (bpf_probe_read_user(words, sizeof(words), (void *)(pc - sizeof(words))))
		return 0;
	return event_v8_code(words);
}

/* What is at V8_AT_... of a frame. */
static __always_inline __u64 frame_word(const struct walk *walk, int at)
{
	return walk->v8.words[(at - V8_AT_OFFSET) / 8];
}

/* Which function the frame is of, in the slots behind it. Was it told? */
__noinline int note_function(struct walk *walk)
{
	struct event_v8 *noted;
	__u64 map = 0;
	__u32 last;

	if (!walk)
		return 0;
	last = walk->last;
	if (last >= EVENT_SLOTS - EVENT_V8_SLOTS)
		return 0;
	find_function(walk);
	find_isolate(walk);
	if (!v8_is_smi(walk->v8.receiver))
		read_word(walk->v8.receiver - 1, &map);
	noted = (struct event_v8 *)&walk->event.frames[last + 1];
	noted->shared = walk->v8.found.shared;
	noted->bytecodes = frame_word(walk, V8_AT_BYTECODES);
	noted->receiver = walk->v8.receiver;
	noted->receiver_map = map;
	noted->code = code_before(walk->event.frames[last].pc);
	noted->script_id = (__s32)walk->v8.found.ids;
	noted->literal_id = (__s32)(walk->v8.found.ids >> 32);
	walk->event.frames[last].method = walk->v8.function;
	walk->event.frames[last].flags |= EVENT_FRAME_FUNCTION;
	walk->event.frame_count = last + 1 + EVENT_V8_SLOTS;
	return walk->v8.found.ids != 0;
}

/* A frame with a marker in place of a function; one kind has both. */
static __always_inline void note_marked(struct walk *walk, __u64 fp, __u32 last, __u32 marker)
{
	walk->event.frames[last].flags |= EVENT_FRAME_MARKED;
	walk->event.frames[last].offset = marker;
	if (marker == unwind_v8.marker_builtin_exit &&
	    read_stack(walk, fp + V8_AT_EXIT_FUNCTION, &walk->v8.function) &&
	    read_stack(walk, fp + (__s64)unwind_v8.exit_receiver_at, &walk->v8.receiver))
		note_function(walk);
}

/* All words of the frame at once; false if they cannot be read. */
static __always_inline bool read_frame(struct walk *walk, __u64 fp)
{
	const __u64 last = WALK_WINDOW_BYTES - sizeof(walk->v8.words);
	__u64 address = fp + V8_AT_OFFSET, offset;

	if ((!walk->window_at ||
	     address + sizeof(walk->v8.words) - 8 - walk->window_at > walk->window_last ||
	     address < walk->window_at) &&
	    !fill_window(walk, address))
		walk->window_at = 0;
	offset = address - walk->window_at;
	if (!walk->window_at || offset > last ||
	    offset + sizeof(walk->v8.words) - 8 > walk->window_last)
		return !bpf_probe_read_user(walk->v8.words, sizeof(walk->v8.words),
					    (void *)address);
	__builtin_memcpy(walk->v8.words, walk->window + offset, sizeof(walk->v8.words));
	return true;
}

/*
 * Leave a frame of V8's. @guessed: the code is in no range, so it is V8's only if that can be told
 * by the frame itself. Nonzero at the end.
 */
__noinline int leave_v8(struct walk *walk, bool guessed)
{
	__u64 fp, word;
	__u32 last;

	if (!walk)
		return 1;
	fp = walk->fp;
	last = walk->last;
	if (fp == 0 && !walk->fp_lost)
		return walk_end(walk, STACK_WHOLE);
	if (walk->fp_lost || fp < walk->sp || fp & 7 || last >= EVENT_SLOTS)
		return walk_end(walk, STACK_BROKEN);
	if (!read_frame(walk, fp))
		return walk_end(walk, STACK_UNREADABLE);
	walk->event.frames[last].flags |= EVENT_FRAME_V8;
	walk->saved_at = SAVED_LOST;
	word = frame_word(walk, V8_AT_MARKER);
	if (v8_is_smi(word)) {
		/* Behind an entry frame there is C++, whose registers it has saved. */
		if ((__u32)word == unwind_v8.marker_entry ||
		    (__u32)word == unwind_v8.marker_construct_entry)
			walk->saved_at = fp + V8_ENTRY_SAVED_AT;
		note_marked(walk, fp, last, (__u32)word);
	} else {
		word = frame_word(walk, V8_AT_OFFSET);
		walk->event.frames[last].offset =
			(__u32)word ? EVENT_V8_NO_OFFSET : (__u32)(word >> 32);
		walk->v8.function = frame_word(walk, V8_AT_FUNCTION);
		walk->v8.receiver = frame_word(walk, V8_AT_RECEIVER);
		if (note_function(walk))
			guessed = false;
	}
	walk->pc = frame_word(walk, V8_AT_RETURN);
	walk->fp = frame_word(walk, V8_AT_CALLER);
	walk->sp = fp + 16;
	walk->exact = false;
	walk->guessed = guessed;
	return walk->pc ? 0 : walk_end(walk, STACK_WHOLE);
}

#endif
