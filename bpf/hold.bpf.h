/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding a thread until place-probe has answered, and sending it memory meanwhile.
 *
 * Holding must yield: a loop that only spins keeps place-probe off the CPU on kernels without
 * preemption. Copying from the own memory by way of the task does yield, if the address is valid.
 */
#ifndef BPF_HOLD_BPF_H
#define BPF_HOLD_BPF_H

#include "bpf/runtime.bpf.h"

enum { HOLD_TURNS_MAX = 1 << 23 /* all that bpf_loop() does */ };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1); /* set to the size asked for */
} follow_events SEC(".maps");

#define ADD(counter, n) ((void)__sync_fetch_and_add(&(counter), (n)))

static __always_inline struct hold *hold_of(__u64 id)
{
	return &follow.holds[id & (FOLLOW_HOLDS - 1)];
}

/* Before the event is sent that lets the other side release it. 0: nobody is held. */
static __noinline __u64 hold_prepare(__u64 stack_pointer, __u64 limit_ns)
{
	struct hold *hold;
	__u64 id;

	if (!follow.holding || follow.ended)
		return 0;
	id = __sync_fetch_and_add(&follow.next_hold, 1) + 1;
	hold = hold_of(id);
	hold->began_ns = bpf_ktime_get_ns();
	hold->until_ns = hold->began_ns + limit_ns;
	hold->stack_pointer = stack_pointer;
	*(volatile __u64 *)&hold->word = id << HOLD_STATE_BITS | HOLD_WAITING;
	return id;
}

static long hold_turn(__u32 i, __u64 *id)
{
	struct hold *hold = hold_of(*id);
	__u64 unused, now = bpf_ktime_get_ns();

	if (*(volatile __u64 *)&hold->word != (*id << HOLD_STATE_BITS | HOLD_WAITING) ||
	    !follow.holding || now > hold->until_ns)
		return 1;
	/* Nobody is there any more who could answer. */
	if (now > *(volatile __u64 *)&follow.heartbeat_ns + follow.heartbeat_limit_ns)
		return 1;
	bpf_copy_from_user_task(&unused, sizeof(unused), (void *)hold->stack_pointer,
				bpf_get_current_task_btf(), 0);
	return 0;
}

/* Wait for an answer: the state that the other side has set, or HOLD_TIMED_OUT. */
static __noinline __u32 hold_wait(__u64 id)
{
	__u64 waiting = id << HOLD_STATE_BITS | HOLD_WAITING, found;

	bpf_loop(HOLD_TURNS_MAX, hold_turn, &id, 0);
	found = __sync_val_compare_and_swap(&hold_of(id)->word, waiting, waiting | HOLD_TIMED_OUT);
	return found == waiting ? HOLD_TIMED_OUT : found & ((1 << HOLD_STATE_BITS) - 1);
}

static __noinline int hold_end(__u64 id, __u32 state)
{
	__u64 took = bpf_ktime_get_ns() - hold_of(id)->began_ns;

	if (took > follow.longest_hold_ns)
		follow.longest_hold_ns = took;
	if (state != HOLD_TIMED_OUT) {
		follow.timeouts_in_row = 0;
		return 0;
	}
	if (!follow.holding) /* it was the other side that ended it */
		return 0;
	if (__sync_fetch_and_add(&follow.timeouts_in_row, 1) + 1 >= FOLLOW_TIMEOUTS_MAX)
		follow.holding = 0;
	return 0;
}

static __always_inline void fill_head(struct follow_event_head *head, __u32 type, __u64 hold)
{
	head->type = type;
	head->tid = (__u32)bpf_get_current_pid_tgid();
	head->time_ns = bpf_ktime_get_ns();
	head->hold = hold;
}

/* Copying what was asked for ----------------------------------------------------------------- */

/* Have the page there: while a record of the ring buffer is taken, all behind it wait. */
static __noinline int touch(__u64 at)
{
	__u8 byte;

	return bpf_copy_from_user(&byte, sizeof(byte), (void *)at) ? 1 : 0;
}

struct copying {
	__u64 base;
	__u64 size;
	__u64 hold;
	__u32 copy;
	__u32 failed;
};

static __noinline int send_chunk(struct copying *copying, __u64 at, __u64 size)
{
	struct chunk_event *event;

	/* Between sections nothing may be mapped. */
	if (size == 0 || size > FOLLOW_CHUNK_BYTES || touch(copying->base + at) ||
	    touch(copying->base + at + size - 1))
		return 0;
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		copying->failed = 1;
		return 1;
	}
	fill_head(&event->head, FOLLOW_CHUNK, 0);
	event->for_hold = copying->hold;
	event->copy = copying->copy;
	event->at = (__u32)at;
	event->size = (__u32)size;
	if (bpf_copy_from_user(event->bytes, size, (void *)(copying->base + at)))
		event->size = 0;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

static long copy_chunk(__u32 i, struct copying *copying)
{
	__u64 at = (__u64)i * FOLLOW_CHUNK_BYTES, rest = copying->size - at;

	return send_chunk(copying, at, rest < FOLLOW_CHUNK_BYTES ? rest : FOLLOW_CHUNK_BYTES);
}

/* Send one of the ranges that were asked for, piece by piece. */
static __noinline int send_copy(__u64 hold, __u32 copy)
{
	const struct hold_copy *wanted = &hold_of(hold)->copies[copy & (FOLLOW_COPIES - 1)];
	struct copying copying = {
		.base = wanted->at, .size = wanted->size, .hold = hold, .copy = copy
	};

	if (copying.size > FOLLOW_COPY_MAX_BYTES)
		return 0;
	bpf_loop((__u32)(copying.size + FOLLOW_CHUNK_BYTES - 1) / FOLLOW_CHUNK_BYTES, copy_chunk,
		 &copying, 0);
	if (copying.failed)
		ADD(follow.lost_other, 1);
	return 0;
}

#endif
