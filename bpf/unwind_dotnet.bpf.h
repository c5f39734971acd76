/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder for code that the .NET runtime has compiled. That is found as the runtime itself
 * finds it, through its map of code ranges and the nibble map of the heap, so that what was
 * compiled a moment ago is found too. Then its prologue is undone, step by step, by the part for
 * the machine.
 *
 * Source of the formats: dotnet/runtime docs/design/datacontracts/ExecutionManager.md. See
 * nibble_map.h.
 */
#ifndef BPF_UNWIND_DOTNET_BPF_H
#define BPF_UNWIND_DOTNET_BPF_H

#include "bpf/nibble_map.h"

enum {
	MAP_LEVELS = 5,
	MAP_LEVEL_BITS = 8,
	MAP_TOP_SHIFT = 49, /* of the address's bits that index the top level */
	MAP_MARK = 1,	    /* of pointers: what they lead to is being made */
	FRAGMENTS_MAX = 8,

	CHUNK_UNITS = 64, /* that are read at a time, backwards */
	CHUNKS_MAX = 16,  /* so a body of version 1 may be 256 KB long */

	JIT_UNWINDS_MAX = 32, /* handlers of one method that are looked through */
};

struct unwind_dotnet unwind_dotnet; /* written before the first walk */

/*
 * What was found out of return addresses before, as a frame. As with known_frames, the tag is of
 * all of it. Code can be freed and other code take its place, so its header is looked at each time.
 */
struct known_code {
	__u64 tag;
	__u64 code;
	__u64 header;
	__u64 method;
	union {
		struct unwind_frame frame;
		__u64 bits;
	};
};

enum { CODE_FUNCLET = 0x80 };

ARRAY_MAP(known_codes, KNOWN_FRAMES, struct known_code);

static __always_inline bool read_word(__u64 at, __u64 *value)
{
	return !bpf_probe_read_user(value, sizeof(*value), (void *)at);
}

/* The heap of the code at @pc into walk->jit; false if it is in none. */
__noinline int find_heap(struct walk *walk, __u64 pc)
{
	__u64 at = unwind_dotnet.range_map, begin = 0, end = 0, section = 0, heap;

	if (!walk || !at)
		return false;
	if (pc - walk->jit.begin < walk->jit.size)
		return true;
	for (int level = 0; level < MAP_LEVELS; level++) {
		__u64 index = pc >> (MAP_TOP_SHIFT - level * MAP_LEVEL_BITS) & 255;

		if (!read_word(at + index * sizeof(at), &at))
			return false;
		at &= ~(__u64)MAP_MARK;
		if (!at)
			return false;
	}
	for (int i = 0; i < FRAGMENTS_MAX && at; i++) {
		if (!read_word(at + unwind_dotnet.fragment_section_at, &section) ||
		    !read_word(section + unwind_dotnet.section_begin_at, &begin) ||
		    !read_word(section + unwind_dotnet.section_end_at, &end))
			return false;
		if (pc >= begin && pc < end)
			break;
		section = 0;
		if (!read_word(at + unwind_dotnet.fragment_next_at, &at))
			return false;
		at &= ~(__u64)MAP_MARK;
	}
	if (!section || !read_word(section + unwind_dotnet.section_heap_at, &heap) || !heap ||
	    !read_word(heap + unwind_dotnet.heap_map_base_at, &walk->jit.map_base) ||
	    !read_word(heap + unwind_dotnet.heap_nibbles_at, &walk->jit.nibbles))
		return false;
	walk->jit.unwind_base = walk->jit.map_base;
	if (unwind_dotnet.heap_unwind_base_at != UNWIND_NO_FIELD &&
	    !read_word(heap + unwind_dotnet.heap_unwind_base_at, &walk->jit.unwind_base))
		return false;
	walk->jit.begin = begin;
	walk->jit.size = end - begin;
	return true;
}

/* Where the last body begins that the CHUNK_UNITS units before number @end know of. */
__noinline int find_in_chunk(struct walk *walk, __u64 end)
{
	__u64 first;

	if (!walk)
		return false;
	first = end > CHUNK_UNITS ? end - CHUNK_UNITS : 0;
	if (bpf_probe_read_user(walk->jit.units, sizeof(walk->jit.units),
				(void *)(walk->jit.nibbles + first * sizeof(__u32))))
		return false;
	for (__u32 i = 0; i < CHUNK_UNITS; i++) {
		__u32 unit = walk->jit.units[CHUNK_UNITS - 1 - i];

		/* Of the first chunk the last units are beyond the end. */
		if (!unit || first + CHUNK_UNITS - 1 - i >= end)
			continue;
		walk->jit.code = nibble_last(unwind_dotnet.nibble_map, walk->jit.map_base,
					     first + CHUNK_UNITS - 1 - i, unit);
		return walk->jit.code != 0;
	}
	return false;
}

/* The beginning of the body that holds @pc, by the nibble map, into walk->jit.code. */
__noinline int find_code(struct walk *walk, __u64 pc)
{
	__u32 version = unwind_dotnet.nibble_map, unit;
	__u64 offset, index;

	if (!walk)
		return false;
	offset = pc - walk->jit.map_base;
	index = offset / NIBBLE_UNIT_BYTES;
	if (bpf_probe_read_user(&unit, sizeof(unit),
				(void *)(walk->jit.nibbles + index * sizeof(unit))))
		return false;
	unit = nibble_before(version, unit, offset % NIBBLE_UNIT_BYTES);
	walk->jit.code = nibble_last(version, walk->jit.map_base, index, unit);
	if (walk->jit.code)
		return true;
	for (int chunk = 0; chunk < CHUNKS_MAX && index; chunk++) {
		if (find_in_chunk(walk, index))
			return true;
		index = index > CHUNK_UNITS ? index - CHUNK_UNITS : 0;
	}
	return false;
}

/* The unwind information of the part of the body that holds @pc. */
__noinline int find_jit_info(struct walk *walk, __u64 pc)
{
	__u64 header = 0, at;
	struct runtime_function part;
	__u32 count;

	if (!walk || !read_word(walk->jit.code - sizeof(header), &header))
		return false;
	walk->jit.header = header;
	walk->jit.stub = header <= unwind_dotnet.last_stub_kind;
	if (walk->jit.stub ||
	    !read_word(header + unwind_dotnet.code_method_at, &walk->jit.method) ||
	    bpf_probe_read_user(&count, sizeof(count),
				(void *)(header + unwind_dotnet.code_unwind_count_at)))
		return false;
	at = header + unwind_dotnet.code_unwinds_at;
	for (__u32 i = 0; i < JIT_UNWINDS_MAX && i < count; i++) {
		__u64 offset = pc - walk->jit.unwind_base;

		if (bpf_probe_read_user(&part, sizeof(part), (void *)(at + i * sizeof(part))))
			return false;
		if (offset < part.begin || offset >= part.end)
			continue;
		walk->jit.function_offset = (__u32)offset - part.begin;
		walk->jit.funclet = i > 0;
		return read_prologue(walk, walk->jit.unwind_base + part.info);
	}
	return false;
}

/* Can a frame say that something is @bytes from the CFA? */
static __always_inline bool is_place(__s64 bytes)
{
	return !(bytes & 7) && bytes >> 3 >= -128 && bytes >> 3 < UNWIND_PLACES;
}

static __always_inline __u64 tag_of_code(__u64 pc, const struct known_code *known)
{
	/* Odd numbers with many bits, so that words do not go for each other. */
	return pc ^ known->code * 0x9e3779b97f4a7c15ULL ^ known->header * 0xbf58476d1ce4e5b9ULL ^
	       known->method * 0x94d049bb133111ebULL ^ known->bits;
}

/* What has just been undone as a frame, for the next time. */
__noinline int remember(const struct walk *walk, __u64 pc)
{
	const struct walk_jit *jit;
	__s64 offset, return_at, fp_at;
	__u32 key = known_key(pc);
	struct known_code *known = bpf_map_lookup_elem(&known_codes, &key), found;

	if (!walk || !known)
		return false;
	jit = &walk->jit;
	offset = (__s64)(jit->cfa - (jit->framed ? walk->fp : walk->sp));
	return_at = (__s64)(jit->return_at - jit->cfa);
	fp_at = (__s64)(jit->fp_at - jit->cfa);
	if (offset & 7 || offset >> 3 != (__s16)(offset >> 3) || !is_place(return_at) ||
	    (jit->fp_at && !is_place(fp_at)))
		return false;
	found.code = jit->code;
	found.header = jit->header;
	found.method = jit->method;
	found.bits = 0;
	found.frame.rule = UNWIND_REGISTER | (jit->funclet ? CODE_FUNCLET : 0);
	found.frame.base = jit->framed ? UNWIND_FP : UNWIND_SP;
	found.frame.return_address = (__s8)(return_at >> 3);
	found.frame.frame_pointer = jit->fp_at ? (__s8)(fp_at >> 3) : UNWIND_SAME;
	found.frame.offset = (__s16)(offset >> 3);
	found.tag = tag_of_code(pc, &found);
	*known = found;
	return true;
}

/* The same code as before: its frame is as it was. */
__noinline int recall(struct walk *walk, __u64 pc)
{
	__u32 key = known_key(pc);
	struct known_code *known = bpf_map_lookup_elem(&known_codes, &key), found;
	__u64 now, cfa;

	if (!walk || !known)
		return false;
	found = *known;
	if (!found.code || found.tag != tag_of_code(pc, &found) ||
	    !read_word(found.code - sizeof(now), &now) || now != found.header ||
	    !read_word(found.header + unwind_dotnet.code_method_at, &now) || now != found.method)
		return false;
	cfa = found.frame.base == UNWIND_FP ? walk->fp : walk->sp;
	cfa += (__s64)found.frame.offset * UNWIND_UNIT;
	walk->jit.cfa = cfa;
	walk->jit.fp = walk->fp;
	if ((found.frame.base == UNWIND_FP && walk->fp_lost) || cfa <= walk->sp ||
	    !read_stack(walk, cfa + (__s64)found.frame.return_address * UNWIND_UNIT, &walk->pc) ||
	    (found.frame.frame_pointer != UNWIND_SAME &&
	     !read_stack(walk, cfa + (__s64)found.frame.frame_pointer * UNWIND_UNIT,
			 &walk->jit.fp)))
		return false;
	walk->jit.code = found.code;
	walk->jit.method = found.method;
	walk->jit.funclet = found.frame.rule & CODE_FUNCLET;
	walk->jit.fp_at = found.frame.frame_pointer != UNWIND_SAME;
	return true;
}

/* Leave a frame of such code. False if it is none, or if that cannot be done. */
static __always_inline bool leave_compiled(struct walk *walk)
{
	__u64 pc = walk->pc - !walk->exact, found = walk->pc;

	walk->jit.method = 0;
	walk->jit.stub = false;
	walk->jit.funclet = false;
	if (!unwind_dotnet.range_map)
		return false;
	if (walk->exact || !recall(walk, pc)) {
		walk->pc = found;
		if (!find_heap(walk, pc) || !find_code(walk, pc) || !find_jit_info(walk, pc) ||
		    !undo_prologue(walk))
			return false;
		if (!walk->exact)
			remember(walk, pc);
	}
	walk->sp = walk->jit.cfa;
	walk->fp = walk->jit.fp;
	if (walk->jit.fp_at)
		walk->fp_lost = false;
	walk->exact = false;
	return true;
}

#endif
