// SPDX-License-Identifier: GPL-2.0-or-later
/* A hash table of stacks, from which those go first that have not been used for longest. */
#include "stack/known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stack/symbols.h"

enum {
	CHAINS = 1 << 16,
	ALLOCATOR_BYTES = 64, /* that it needs for itself, of each */
};

struct known_stacks {
	uint64_t version; /* of the symbols that they are named by */
	size_t bytes;
	size_t bytes_max;
	uint64_t evicted;
	struct known_stack *oldest, *newest;
	struct known_stack *chains[CHAINS];
};

int known_stacks_create(struct known_stacks **out, size_t bytes_max, struct error *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return error_set(err, -ENOMEM, "no memory for stacks");
	(*out)->bytes_max = bytes_max;
	return 0;
}

void known_stack_release(struct known_stack *stack)
{
	if (!stack || --stack->users)
		return;
	stack_deinit(&stack->stack);
	free(stack->rendering.text);
	free(stack);
}

/* The table ----------------------------------------------------------------------------------- */

static void unlink_use(struct known_stacks *known, struct known_stack *stack)
{
	*(stack->older ? &stack->older->newer : &known->oldest) = stack->newer;
	*(stack->newer ? &stack->newer->older : &known->newest) = stack->older;
}

static void link_newest(struct known_stacks *known, struct known_stack *stack)
{
	stack->older = known->newest;
	stack->newer = NULL;
	*(known->newest ? &known->newest->newer : &known->oldest) = stack;
	known->newest = stack;
}

static void forget(struct known_stacks *known, struct known_stack *stack)
{
	struct known_stack **at = &known->chains[stack->hash % CHAINS];

	while (*at != stack)
		at = &(*at)->chain;
	*at = stack->chain;
	unlink_use(known, stack);
	known->bytes -= stack->bytes;
	known_stack_release(stack);
}

void known_stacks_forget(struct known_stacks *known)
{
	struct known_stack *stack = known ? known->oldest : NULL, *newer;

	if (!stack)
		return;
	known->oldest = known->newest = NULL;
	known->bytes = 0;
	memset(known->chains, 0, sizeof(known->chains));
	for (; stack; stack = newer) {
		newer = stack->newer;
		known_stack_release(stack);
	}
}

void known_stacks_destroy(struct known_stacks *known)
{
	if (!known)
		return;
	known_stacks_forget(known);
	free(known);
}

uint64_t known_stacks_evicted(const struct known_stacks *known)
{
	return known->evicted;
}

/* What is written of it comes later than it does, so it is counted at each use. */
static void count_bytes(struct known_stacks *known, struct known_stack *stack)
{
	size_t bytes = sizeof(*stack) + ALLOCATOR_BYTES + stack->raw_count * sizeof(stack->raw[0]) +
		       stack->stack.capacity * sizeof(struct frame) +
		       stack->stack.answer_capacity * sizeof(struct symbols_answer *) +
		       stack->rendering.length;

	known->bytes += bytes - stack->bytes;
	stack->bytes = bytes;
	while (known->bytes > known->bytes_max && known->oldest != stack) {
		forget(known, known->oldest);
		known->evicted++;
	}
}

/* What a stack is known by --------------------------------------------------------------------*/

static uint64_t mix(uint64_t hash, uint64_t number)
{
	/* Any odd number with many bits. */
	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/*
 * A frame as it is known again: frame pointers are of no matter, and in their place it has the
 * version of its code.
 */
static struct event_frame raw_of(const struct symbols *symbols, const struct event_frame *at)
{
	struct event_frame raw = *at;

	raw.frame_pointer = symbols ? symbols_code_version(symbols, at) & 0xffffff : 0;
	return raw;
}

static uint64_t hash_of(const struct hit_event *event, uint64_t entry)
{
	uint64_t hash = mix(event->stack_end, entry);

	for (uint32_t i = 0; i < event->frame_count; i++) {
		const struct event_frame *at = &event->frames[i];

		hash = mix(hash, at->pc);
		if (at->method)
			hash = mix(mix(hash, at->method), at->offset);
	}
	return hash;
}

static bool is_same(const struct known_stack *stack, const struct symbols *symbols,
		    const struct hit_event *event, uint64_t entry)
{
	if (stack->raw_count != event->frame_count || stack->entry != entry ||
	    (unsigned int)stack->stack.end != event->stack_end)
		return false;
	for (uint32_t i = 0; i < stack->raw_count; i++) {
		const struct event_frame raw = raw_of(symbols, &event->frames[i]);

		/* All of its bits are members. */
		if (memcmp(&stack->raw[i], &raw, sizeof(raw)) != 0)
			return false;
	}
	return true;
}

static struct known_stack *find(struct known_stacks *known, const struct symbols *symbols,
				const struct hit_event *event, uint64_t hash, uint64_t entry)
{
	struct known_stack *at = known->chains[hash % CHAINS];

	while (at && (at->hash != hash || !is_same(at, symbols, event, entry)))
		at = at->chain;
	return at;
}

/* ----------------------------------------------------------------------------------------------*/

/* Names may be others by now. */
static void forget_outdated(struct known_stacks *known, const struct symbols *symbols)
{
	uint64_t version = symbols_version(symbols);

	if (known->version == version)
		return;
	known_stacks_forget(known);
	known->version = version;
}

static struct known_stack *make(struct symbols *symbols, const struct hit_event *event,
				struct address entry, enum stack_frames frames)
{
	struct known_stack *stack =
		calloc(1, sizeof(*stack) + event->frame_count * sizeof(event->frames[0]));

	if (!stack)
		return NULL;
	stack->users = 1;
	stack->raw_count = event->frame_count;
	for (uint32_t i = 0; i < stack->raw_count; i++)
		stack->raw[i] = raw_of(symbols, &event->frames[i]);
	stack_resolve(&stack->stack, symbols, event, entry, frames);
	return stack;
}

static void remember(struct known_stacks *known, struct known_stack *stack, uint64_t hash,
		     uint64_t entry)
{
	struct known_stack **chain = &known->chains[hash % CHAINS];

	stack->users++;
	stack->hash = hash;
	stack->entry = entry;
	stack->stack.rendering = &stack->rendering;
	stack->chain = *chain;
	*chain = stack;
	link_newest(known, stack);
}

struct known_stack *known_stacks_get(struct known_stacks *known, struct symbols *symbols,
				     const struct hit_event *event, struct address entry,
				     enum stack_frames frames)
{
	uint64_t replaced = event->duration_ns ? entry.value : 0;
	uint64_t hash = hash_of(event, replaced);
	struct known_stack *stack;

	if (!symbols)
		return make(NULL, event, entry, frames);
	forget_outdated(known, symbols);
	stack = find(known, symbols, event, hash, replaced);
	if (stack) {
		unlink_use(known, stack);
		link_newest(known, stack);
		stack->users++;
		count_bytes(known, stack);
		return stack;
	}
	stack = make(symbols, event, entry, frames);
	/* To name it, what is mapped may have been looked at anew. */
	forget_outdated(known, symbols);
	if (!stack || !stack->stack.lasting || stack->stack.end != (enum stack_end)event->stack_end)
		return stack;
	/* By now it is known what was written of the one before, which may not come again. */
	if (known->newest)
		count_bytes(known, known->newest);
	remember(known, stack, hash, replaced);
	count_bytes(known, stack);
	return stack;
}
