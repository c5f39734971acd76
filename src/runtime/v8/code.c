// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which Code object the machine code at an address belongs to. Its instructions lie in an object
 * of the heap, in front of which the word is that all such objects begin with: so it is searched
 * for backwards, which finds also code that no function refers to any more. What was found is
 * kept, and looked at again each time.
 *
 * Source: V8's src/objects/code.h, instruction-stream.h, code-kind.h.
 */
#include "runtime/v8/frame_internal.h"

#include "target/memory.h"

enum { BACK_MAX_BYTES = 1 << 20 /* from a pc to the beginning of its object */ };

const char *v8_tier_name(enum v8_tier tier)
{
	static const char *const names[] = {
		[V8_TIER_NONE] = NULL,		 [V8_TIER_INTERPRETER] = "interpreter",
		[V8_TIER_BASELINE] = "baseline", [V8_TIER_MAGLEV] = "maglev",
		[V8_TIER_TURBOFAN] = "turbofan", [V8_TIER_BUILTIN] = "builtin",
	};

	return names[tier];
}

static enum v8_tier tier_of(const struct v8_heap *heap, uint64_t code)
{
	static const enum v8_tier tiers[] = { V8_TIER_BASELINE, V8_TIER_MAGLEV, V8_TIER_TURBOFAN };
	const int32_t *at = heap->layout->at;
	uint32_t kind = v8_field_u32(heap, code, V8_CODE_FLAGS) & (uint32_t)at[V8_KIND_MASK];
	uint32_t number = kind - (uint32_t)at[V8_KIND_BASELINE];

	return number < sizeof(tiers) / sizeof(tiers[0]) ? tiers[number] : V8_TIER_NONE;
}

/* Up to V8 10 it is all one object. */
static enum v8_field stream_type(const struct v8_heap *heap)
{
	return v8_layout_has(heap->layout, V8_TYPE_STREAM) ? V8_TYPE_STREAM : V8_TYPE_CODE;
}

/* Does an object with instructions begin at @stream, an address with its tag? */
static bool read_code(const struct v8_heap *heap, uint64_t stream, struct v8_code *code)
{
	const int32_t *at = heap->layout->at;

	if (!v8_is(heap, stream, stream_type(heap)))
		return false;
	code->object = stream;
	if (v8_layout_has(heap->layout, V8_STREAM_CODE))
		code->object = v8_field(heap, stream, V8_STREAM_CODE);
	if (!v8_is(heap, code->object, V8_TYPE_CODE))
		return false;
	code->start = v8_layout_has(heap->layout, V8_CODE_START_INLINE) ?
			      v8_address(code->object, at[V8_CODE_START_INLINE]) :
			      v8_field(heap, code->object, V8_CODE_START);
	code->size = v8_field_u32(heap, code->object, V8_CODE_SIZE);
	code->tier = tier_of(heap, code->object);
	return code->start > stream;
}

/* A call may be the last instruction, and return to what is behind it. */
static bool is_in_code(const struct v8_code *code, uint64_t pc)
{
	return pc >= code->start && pc - code->start <= code->size;
}

/* Is it the Map of objects with instructions? */
static bool is_first_word(const struct v8_heap *heap, uint64_t word)
{
	return v8_is_object(word) &&
	       v8_u16(heap, word, V8_MAP_TYPE) == heap->layout->at[stream_type(heap)] &&
	       v8_is(heap, word, V8_TYPE_MAP);
}

/*
 * The last object with instructions that begins before @pc: where @pc is not in it, there is none
 * that it is in. With @known: only those that begin so.
 */
static bool search(const struct v8_heap *heap, uint64_t pc, uint64_t lowest, uint64_t known,
		   struct v8_code *code, uint64_t *stream)
{
	struct look look = look_into(heap->memory);
	uint64_t at = pc & ~(uint64_t)7;

	if (at > BACK_MAX_BYTES && lowest < at - BACK_MAX_BYTES)
		lowest = at - BACK_MAX_BYTES;
	for (; at >= lowest && at >= 8; at -= 8) {
		uint64_t word = look_u64(&look, at);

		if (look.bad)
			break;
		if ((known ? word != known : !is_first_word(heap, word)) ||
		    !read_code(heap, at + 1, code))
			continue;
		*stream = at + 1;
		return true;
	}
	return false;
}

static size_t hash(uint64_t value)
{
	return (size_t)((value * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

bool v8_code_find(struct v8_codes *codes, const struct v8_heap *heap, uint64_t isolate,
		  struct address pc, struct address lowest, struct v8_code *code)
{
	size_t slot = hash(pc.value) % V8_CODES_KEPT, first = hash(isolate) % V8_CODES_ISOLATES;
	uint64_t known = codes->first[first].isolate == isolate ? codes->first[first].word : 0;
	uint64_t stream;

	if (codes->kept[slot].pc == pc.value && read_code(heap, codes->kept[slot].stream, code) &&
	    is_in_code(code, pc.value))
		return true;
	codes->kept[slot].pc = 0;
	/* Machine code is full of numbers that lead nowhere, but it takes time to see that. */
	if (!isolate || !is_first_word(heap, known))
		known = 0;
	if (!search(heap, pc.value, lowest.value, known, code, &stream))
		return false;
	codes->first[first].isolate = isolate;
	codes->first[first].word = v8_word(heap, stream, 0);
	if (!is_in_code(code, pc.value))
		return false;
	codes->kept[slot].pc = pc.value;
	codes->kept[slot].stream = stream;
	return true;
}
