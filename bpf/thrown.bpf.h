/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch: which exception a call was left by. The runtime tells a native function of each frame
 * that an exception comes by while it looks for who catches it, from the inside outwards
 * (src/runtime/dotnet/qcalls.h). A call is left by an exception only if the frame that it was
 * called by is among them: its stack pointer is the call's, once it has returned.
 *
 * That it will be left is all that this says; that it has been is seen by latency.bpf.h. In between
 * there may be others, thrown where frames are cleaned up:
 *   - One that comes by as well is the one then, as it replaces what it was thrown in the course
 *     of. Unless it is replaced itself before it has come so far: if another was thrown in its own
 *     course, it is not known which.
 *   - One that is not thrown in the course of it finds it over. If nothing had been thrown in its
 *     course it has gone all its way, and the call was left before. Else it may have been replaced
 *     by one that came less far, and nothing is known.
 * What is in the course of what the runtime keeps as a list, on the stack.
 */
#ifndef BPF_THROWN_BPF_H
#define BPF_THROWN_BPF_H

#include "bpf/thrown.h"

/* Set before loading. */
const volatile __u32 thrown_bytes; /* of a message, at most; 0: messages are not to be read */

/* The first frame of an exception, or of one that is thrown again: RH_EH_FIRST_FRAME. */
enum { THROWN_FIRST_FRAME = 1 };

/* Numbers of exceptions; 0 is none. */
__u32 thrown_count;

/* One that is under way. */
struct thrown_pass {
	__u64 address; /* of what the runtime has of it */
	__u32 number;
	__u32 had_others; /* in its course */
};

/* Only the thread's own programs touch it. */
struct thrown_thread {
	__u32 depth;
	__u32 number; /* of the innermost */
	__u32 turn;   /* which reading is the next */
	__u32 reserved;
	__u64 address; /* of the innermost; .number is 0 if it is not among .passes */
	struct thrown_pass passes[THROWN_DEPTH]; /* the outermost first */
	struct thrown is;			 /* the innermost */
};

static const struct thrown_thread nothing_thrown;

MAP(thrown_threads, HASH, 1 /* set to what there is room for */, __u64, struct thrown_thread);

static __always_inline struct timed_call *call_at(struct timed_thread *calls, __u32 number)
{
	return &calls->calls[number & (LATENCY_DEPTH - 1)];
}

static __always_inline struct thrown_pass *pass_at(struct thrown_thread *thread, __u32 number)
{
	return &thread->passes[number & (THROWN_DEPTH - 1)];
}

/*
 * What number @number has come by: it is over, and has gone all its way, or @others are thrown in
 * the course of it.
 */
__noinline int thrown_decide(struct timed_thread *calls, __u32 number, __u32 others)
{
	if (!calls)
		return 0;
	for (__u32 i = 0; i < LATENCY_DEPTH && i < calls->depth; i++) {
		struct watch_slot *slot = watch_slot_of(call_at(calls, i)->by);

		if (!slot || slot->thrown != number)
			continue;
		if (!others)
			slot->values.thrown |= WATCH_THROWN_LEFT;
		else if (slot->values.thrown & WATCH_THROWN_REPLACED)
			slot->values.thrown |= WATCH_THROWN_DOUBT;
	}
	return 0;
}

/* Which of those under way is at @address, from 1 on; 0: none. */
static __always_inline __u32 thrown_find(struct thrown_thread *thread, __u64 address)
{
	for (__u32 i = 0; i < THROWN_DEPTH && i < thread->depth; i++) {
		if (pass_at(thread, i)->address == address)
			return i + 1;
	}
	return 0;
}

/* The innermost of @around, and of those around it, that was seen to begin, likewise. */
__noinline int thrown_still(struct thrown_thread *thread, __u64 around, __u32 previous_at)
{
	if (!thread)
		return 0;
	for (int i = 0; i < THROWN_DEPTH && around; i++) {
		__u32 found = thrown_find(thread, around);

		if (found)
			return found;
		if (bpf_probe_read_user(&around, sizeof(around), (void *)(around + previous_at)))
			return 0;
	}
	return 0;
}

/* Only the first @still are under way, of which number @still is the innermost. */
__noinline int thrown_cut(struct thrown_thread *thread, struct timed_thread *calls, __u32 still)
{
	if (!thread || !calls)
		return 0;
	for (int i = 0; i < THROWN_DEPTH && thread->depth > still; i++) {
		const struct thrown_pass *over = pass_at(thread, --thread->depth);

		thrown_decide(calls, over->number, over->had_others);
	}
	return 0;
}

/* It is number @number that comes by from now on. */
static __always_inline void thrown_goes_on(struct thrown_thread *thread, __u32 number,
					   __u64 address)
{
	thread->number = number;
	thread->address = address;
	thread->is.readings[0].status = thread->is.readings[1].status = THROWN_NOT_READ;
}

/* One begins, at @address. */
static __noinline int thrown_begin(struct thrown_thread *thread, struct timed_thread *calls,
				   __u64 address, __u32 previous_at)
{
	__u64 around = 0;
	struct thrown_pass *pass;

	bpf_probe_read_user(&around, sizeof(around), (void *)(address + previous_at));
	thrown_cut(thread, calls, thrown_still(thread, around, previous_at));
	for (__u32 i = 0; i < THROWN_DEPTH && i < thread->depth; i++) {
		pass_at(thread, i)->had_others = 1;
		thrown_decide(calls, pass_at(thread, i)->number, 1);
	}
	thrown_goes_on(thread, __sync_fetch_and_add(&thrown_count, 1) + 1, address);
	/* Of one within so many others it would not be seen when it is over. */
	if (thread->depth >= THROWN_DEPTH) {
		thread->number = 0;
		return 0;
	}
	pass = pass_at(thread, thread->depth++);
	pass->address = address;
	pass->number = thread->number;
	pass->had_others = 0;
	return 0;
}

/*
 * One that was there goes on, once a filter that it asked has done with what that has thrown. Which
 * is lost, and can have replaced nothing.
 */
static __noinline int thrown_resume(struct thrown_thread *thread, struct timed_thread *calls,
				    __u64 address)
{
	__u32 still = thrown_find(thread, address);

	if (!still) {
		thrown_goes_on(thread, 0, address);
		return 0;
	}
	thrown_cut(thread, calls, still);
	pass_at(thread, still - 1)->had_others = 0;
	thrown_goes_on(thread, pass_at(thread, still - 1)->number, address);
	return 0;
}

__noinline int thrown_read_message(struct thrown_reading *reading, __u64 message)
{
	__u64 bytes;

	if (!reading)
		return 0;
	reading->status = THROWN_FAULT;
	if (bpf_probe_read_user(&reading->chars, sizeof(reading->chars), (void *)(message + 8)))
		return 0;
	bytes = (__u64)reading->chars * 2;
	bytes = bytes < thrown_bytes ? bytes : thrown_bytes;
	bytes = bytes < THROWN_MESSAGE_BYTES ? bytes : THROWN_MESSAGE_BYTES;
	/* By an instruction, as elsewhere: the mask is above all that there can be. */
	asm volatile("%0 &= %1" : "+r"(bytes) : "i"(511));
	if (bytes > THROWN_MESSAGE_BYTES ||
	    (bytes && bpf_probe_read_user(reading->message, bytes, (void *)(message + 12))))
		return 0;
	reading->status = THROWN_MESSAGE;
	return 0;
}

/* The object that the word at @at points to. */
static __noinline int thrown_read(struct thrown_thread *thread, __u64 at, __u32 message_at)
{
	struct thrown_reading *reading = &thread->is.readings[thread->turn++ & 1];
	__u64 object = 0, message = 0;

	reading->status = THROWN_NOT_READ;
	reading->chars = 0;
	if (bpf_probe_read_user(&object, sizeof(object), (void *)at) ||
	    bpf_probe_read_user(&reading->type, sizeof(reading->type), (void *)object) ||
	    bpf_probe_read_user(&message, sizeof(message), (void *)(object + message_at)))
		return 0;
	/* The lowest bits are the collector's. */
	reading->type &= ~7ULL;
	reading->status = THROWN_NO_MESSAGE;
	if (message && thrown_bytes)
		thrown_read_message(reading, message);
	return 0;
}

/* It has come by the call of @slot, and is kept with it. */
static __noinline int thrown_keep(struct thrown_thread *thread, struct watch_slot *slot)
{
	slot->thrown = thread->number;
	slot->used = slot->values.entry_bytes;
	slot->limit = slot->used + WATCH_BYTES;
	if (!bpf_probe_read_kernel(watch_item_bytes(slot), sizeof(thread->is), &thread->is))
		watch_add_item(slot, THROWN_SLOT, WATCH_OK, sizeof(thread->is), 0);
	return 0;
}

static __always_inline bool is_under_way(struct thrown_thread *thread, __u32 number)
{
	for (__u32 i = 0; i < THROWN_DEPTH && i < thread->depth; i++) {
		if (pass_at(thread, i)->number == number)
			return true;
	}
	return false;
}

/* The frame that called it is come by. */
static __noinline int thrown_pass_call(struct thrown_thread *thread, __u64 number)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (!slot || slot->use != WATCH_KEPT || slot->values.thrown & WATCH_THROWN_LEFT)
		return 0;
	/* One of which not enough is known. */
	if (!thread->number) {
		slot->values.thrown |= WATCH_THROWN_DOUBT;
		return 0;
	}
	if (slot->thrown == thread->number)
		return thrown_keep(thread, slot);
	if (slot->thrown && is_under_way(thread, slot->thrown))
		slot->values.thrown |= WATCH_THROWN_REPLACED;
	else if (slot->thrown)
		slot->values.thrown |= WATCH_THROWN_DOUBT;
	return thrown_keep(thread, slot);
}

/* The frame with @stack_pointer is come by: which call did it make? */
__noinline int thrown_pass_frame(struct thrown_thread *thread, struct timed_thread *calls,
				 __u64 stack_pointer)
{
	if (!thread || !calls)
		return 0;
	for (__u32 i = 0; i < LATENCY_DEPTH && i < calls->depth; i++) {
		struct timed_call *call = call_at(calls, i);

		if (stack_pointer_after(call->stack_pointer) == stack_pointer)
			return thrown_pass_call(thread, call->by);
	}
	return 0;
}

/* Of a thread without a call that is watched nothing is kept. */
static __always_inline struct thrown_thread *thread_that_throws(__u64 id,
								const struct timed_thread *calls)
{
	struct thrown_thread *thread = bpf_map_lookup_elem(&thrown_threads, &id);

	if (thread || !calls->depth)
		return thread;
	bpf_map_update_elem(&thrown_threads, &id, &nothing_thrown, BPF_NOEXIST);
	return bpf_map_lookup_elem(&thrown_threads, &id);
}

/* The thread is gone. */
__noinline int thrown_forget(__u64 id)
{
	return bpf_map_delete_elem(&thrown_threads, &id);
}

/*
 * AppendExceptionStackFrame(ObjectHandleOnStack, ip, sp, flags, ExInfo *): in the target, at the
 * beginning of that function.
 */
SEC("uprobe")
int note_thrown(bpf_user_pt_regs_t *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), id = bpf_get_current_pid_tgid();
	bool begins = argument_of(ctx, 4) & THROWN_FIRST_FRAME;
	struct timed_thread *calls;
	struct thrown_thread *thread;

	if (!active || !target_ids(id))
		return 0;
	calls = bpf_map_lookup_elem(&timed_threads, &id);
	thread = calls ? thread_that_throws(id, calls) : NULL;
	if (!thread)
		return 0;
	if (begins)
		thrown_begin(thread, calls, argument_of(ctx, 5),
			     cookie >> THROWN_PREVIOUS_SHIFT & 0xffff);
	else if (argument_of(ctx, 5) != thread->address)
		thrown_resume(thread, calls, argument_of(ctx, 5));
	thrown_read(thread, argument_of(ctx, 1), cookie & 0xffff);
	/* The first one has thrown it, and has called nobody. */
	if (!begins)
		thrown_pass_frame(thread, calls, argument_of(ctx, 3));
	return 0;
}

#endif
