/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that follow methods. One runs where the JIT's compileMethod is entered and one
 * where it returns. What may be asked for is reported, and the thread is held until place-probe
 * has put a probe on the new code, or the time is up. See follow_files.bpf.h for new files.
 *
 * While one run yields, or is preempted, another may begin on the same CPU. From Linux 6.13 on a
 * frame of 64 bytes and more lies in memory that both then share (seen on 6.18: a hold that
 * began at 0). So frames are smaller than that, which a test asserts, and all else is kept in
 * records that belong to one run: of the ring buffer, or of a map under a number or key that no
 * other has.
 */
#ifndef BPF_FOLLOW_BPF_H
#define BPF_FOLLOW_BPF_H

#include "bpf/follow.h"
#include "bpf/copied.bpf.h"
#include "bpf/hold.bpf.h"
#include "bpf/runtime.bpf.h"

MAP(watched, HASH, 1 /* set to what there is room for */, struct watched_method, __u32,
    NO_PREALLOC);
MAP(modules, HASH, 1 /* likewise */, __u64, __u32, NO_PREALLOC);
MAP(stub_sites, HASH, 1 /* likewise */, struct stub_key, __u32, NO_PREALLOC);

/* A compilation under way. Compilations nest, so the stack pointer tells them apart. */
struct compile {
	__u64 method_desc;
	__u64 jit_info;
	__u64 code_at;
	__u64 size_at;
	__u64 begun_ns;
	__u64 module;
	__u32 rid;
	__u32 kind;  /* enum compile_kind */
	__u32 watch; /* as in struct compile_event */
	__u32 zero;
};

static const struct compile new_compile;

struct compile_key {
	__u32 tid;
	__u32 zero;
	__u64 stack_pointer;
};

/* An exception may end a compilation without its end. */
MAP(compiles, LRU_HASH, 1 /* set to so many as can be under way */, struct compile_key,
    struct compile);

/* What is known of a module: enum module_state, or 0. */
static __noinline __u32 module_state(__u64 module)
{
	__u32 *state = bpf_map_lookup_elem(&modules, &module);

	return state ? *state : 0;
}

/* The number that a watched method has, + 1; 0 if it is not watched. */
static __noinline __u32 watch_of(__u64 module, __u64 rid)
{
	struct watched_method key = { .module = module, .rid = (__u32)rid };
	__u32 *value = bpf_map_lookup_elem(&watched, &key);

	return value ? *value + 1 : 0;
}

/* What kind of compilation it is: enum compile_kind, or COMPILE_UNWANTED. */
enum { COMPILE_UNWANTED = 1u << 31 };

static __noinline __u32 kind_of(__u64 module, __u64 rid, __u32 watch)
{
	if (module == UNREADABLE || rid == UNREADABLE)
		return COMPILE_UNREADABLE;
	if (watch)
		return 0;
	return (module_state(module) & ~MODULE_STUBS) == MODULE_KNOWN ? COMPILE_UNWANTED :
									COMPILE_UNKNOWN;
}

/* What the runtime calls stubs of P/Invokes: src/coreclr/vm/ilstubcache.cpp. */
static __noinline bool is_stub(__u64 desc)
{
	static const char stub_name[] = "IL_STUB_PInvoke";
	char name[sizeof(stub_name)];

	if (bpf_probe_read_user(name, sizeof(name),
				(void *)user_u64(desc + follow.layout.dynamic_name)))
		return false;
	for (int i = 0; i < (int)sizeof(name); i++) {
		if (name[i] != stub_name[i])
			return false;
	}
	return true;
}

/* The kind of compilation that a stub of @module is; 0 if nobody asks for it. */
static __noinline __u32 stub_kind(__u64 desc, __u64 module)
{
	__u32 state;

	if (!follow.want_stubs || module == UNREADABLE || !is_stub(desc))
		return 0;
	state = module_state(module);
	if (!state)
		return COMPILE_STUB | COMPILE_UNKNOWN;
	return state & MODULE_STUBS ? COMPILE_STUB : 0;
}

static __always_inline bool is_followed(void)
{
	return follow.following && is_target_process();
}

static __noinline struct compile *find_compile(__u64 stack_pointer)
{
	struct compile_key key = { .stack_pointer = stack_pointer };

	key.tid = (__u32)bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&compiles, &key);
}

static __noinline int forget_compile(__u64 stack_pointer)
{
	struct compile_key key = { .stack_pointer = stack_pointer };

	key.tid = (__u32)bpf_get_current_pid_tgid();
	return bpf_map_delete_elem(&compiles, &key);
}

static __noinline int add_compile(__u64 stack_pointer)
{
	struct compile_key key = { .stack_pointer = stack_pointer };

	key.tid = (__u32)bpf_get_current_pid_tgid();
	return bpf_map_update_elem(&compiles, &key, &new_compile, BPF_ANY);
}

static __always_inline bool has_armed(void)
{
	bool any = false;

	for (int i = 0; i < DEBUG_REGISTERS; i++)
		any |= follow.armed[i] != 0;
	return any;
}

SEC("uprobe")
int compile_begin(bpf_user_pt_regs_t *ctx)
{
	__u64 desc, head, chunk, module = 0, rid = 0;
	struct compile *compile;
	__u32 kind, watch = 0;

	if (!is_followed())
		return 0;
	ADD(follow.compilations, 1);
	desc = user_u64(argument_of(ctx, 3));
	head = user_u64(desc);
	if (desc == UNREADABLE || head == UNREADABLE) {
		kind = COMPILE_UNREADABLE;
	} else if (is_dynamic(head)) {
		module = module_of(chunk_of(desc, head));
		kind = stub_kind(desc, module);
		if (!kind)
			kind = follow.want_dynamic ? COMPILE_DYNAMIC : COMPILE_UNWANTED;
	} else {
		chunk = chunk_of(desc, head);
		module = module_of(chunk);
		rid = rid_of(chunk, head);
		watch = watch_of(module, rid);
		kind = kind_of(module, rid, watch);
	}
	if (kind == COMPILE_UNWANTED && !has_armed() && !note_codes && !follow.copied) {
		/* One that an exception has ended at this depth is not to be taken for this one. */
		forget_compile(stack_pointer_of(ctx));
		return 0;
	}
	compile = add_compile(stack_pointer_of(ctx)) ? NULL : find_compile(stack_pointer_of(ctx));
	if (!compile) {
		note_code(0);
		if (kind != COMPILE_UNWANTED || has_armed() || follow.copied)
			ADD(follow.lost, 1);
		return 0;
	}
	compile->method_desc = desc;
	compile->jit_info = argument_of(ctx, 2);
	compile->code_at = argument_of(ctx, 5);
	compile->size_at = argument_of(ctx, 6);
	compile->begun_ns = bpf_ktime_get_ns();
	compile->module = module;
	compile->rid = (__u32)rid;
	compile->kind = kind;
	compile->watch = watch;
	return 0;
}

static __noinline __u64 image_base(__u64 module)
{
	__u64 assembly = user_u64(module + follow.layout.module_pe_assembly);
	__u64 image = user_u64(assembly + follow.layout.pe_assembly_image);
	__u64 loaded = user_u64(image + follow.layout.pe_image_layout);

	return user_u64(loaded + follow.layout.pe_layout_base);
}

/* Where the module's image lies. Leaves a base of 0 if it has none. */
static __noinline int read_image(__u64 module, struct compile_event *event)
{
	__u64 assembly = user_u64(module + follow.layout.module_pe_assembly);
	__u64 image = user_u64(assembly + follow.layout.pe_assembly_image);
	__u64 loaded = user_u64(image + follow.layout.pe_image_layout);
	__u64 base = user_u64(loaded + follow.layout.pe_layout_base);
	__u64 size = user_u32(loaded + follow.layout.pe_layout_size);
	__u64 flags = user_u32(loaded + follow.layout.pe_layout_flags);

	event->loader_allocator = user_u64(module + follow.layout.module_loader_allocator);
	event->layout_size = (__u32)size;
	event->layout_flags = (__u32)flags;
	event->layout_base = base;
	if (!image || base == UNREADABLE || size == UNREADABLE || flags == UNREADABLE ||
	    size < FOLLOW_DETAIL_BYTES)
		event->layout_base = 0;
	return 0;
}

/* By itself: the kernel need not know, in all that follows, which of the registers it was. */
__noinline int covers_armed(__u64 code, __u32 size)
{
	bool covers = false;

	for (int i = 0; i < DEBUG_REGISTERS; i++)
		covers |= follow.armed[i] != 0 && follow.armed[i] - code < size;
	return covers;
}

/* The code is put in its place later; until then the runtime has it elsewhere. */
static __noinline int find_written_code(struct compile_event *event, __u64 jit_info)
{
	__u64 header, written, real_header;

	event->written_at = 0;
	event->unwinds_at = 0;
	event->written_size = 0;
	event->unwind_count = 0;
	if (!follow.want_code)
		return 0;
	header = user_u64(jit_info + follow.layout.jit_code_header);
	written = user_u64(jit_info + follow.layout.jit_code_written);
	real_header = user_u64(written);
	event->written_size = (__u32)user_u64(jit_info + follow.layout.jit_code_size);
	event->unwinds_at = real_header + follow.layout.unwinds;
	event->unwind_count = (__u32)user_u32(real_header + follow.layout.unwind_count);
	/* This is how it can be seen that these fields are where they are thought to be. */
	if (header == event->code - CODE_HEADER_BYTES && written != UNREADABLE &&
	    real_header != UNREADABLE)
		event->written_at = written;
	return 0;
}

static __always_inline void fill_event(struct compile_event *event, const struct compile *compile,
				       __u64 hold)
{
	event->begun_ns = compile->begun_ns;
	event->method_desc = compile->method_desc;
	event->module = compile->module;
	event->rid = compile->rid;
	event->watch = compile->watch;
	event->kind = compile->kind;
	event->code = user_u64(compile->code_at);
	event->size = (__u32)user_u32(compile->size_at);
	event->jit_flags = user_u64(compile->jit_info + follow.layout.jit_flags);
	find_written_code(event, compile->jit_info);
	event->loader_allocator = 0;
	event->layout_base = 0;
	event->layout_size = 0;
	event->layout_flags = 0;
	fill_head(&event->head, FOLLOW_COMPILED, hold);
}

/* @to the ring buffer, nothing more than what every compilation has. */
static __always_inline bool send_brief(const struct compile *compile, __u64 hold)
{
	struct compile_event *event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);

	if (!event)
		return false;
	fill_event(event, compile, hold);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* The signature of the stub @desc into @detail, as COMPILE_STUB has it. */
static __noinline int read_signature(__u64 desc, __u8 *detail)
{
	__u64 at = user_u64(desc + follow.layout.stored_sig);
	__u64 size = user_u32(desc + follow.layout.stored_sig_size);

	if (!detail || size == 0 || size > FOLLOW_DETAIL_BYTES - 2 ||
	    bpf_probe_read_user(detail + 2, size, (void *)at))
		return 0;
	detail[0] = (__u8)size;
	detail[1] = (__u8)(size >> 8);
	return 0;
}

/* Only programs that may sleep can always read the header by which the image is known again. */
static __always_inline bool send_detailed(const struct compile *compile, __u64 hold, bool sleeps)
{
	struct detailed_compile_event *to;
	long failed = 0;

	if (sleeps && !(compile->kind & COMPILE_DYNAMIC))
		touch(image_base(compile->module));
	to = bpf_ringbuf_reserve(&follow_events, sizeof(*to), 0);
	if (!to)
		return false;
	fill_event(&to->event, compile, hold);
	to->detail[0] = 0;
	to->detail[1] = 0;
	if ((compile->kind & (COMPILE_STUB | COMPILE_UNKNOWN)) == COMPILE_STUB) {
		read_signature(compile->method_desc, to->detail);
	} else if (compile->kind & COMPILE_DYNAMIC) {
		bpf_probe_read_user_str(
			to->detail, sizeof(to->detail),
			(void *)user_u64(compile->method_desc + follow.layout.dynamic_name));
	} else {
		read_image(compile->module, &to->event);
		if (to->event.layout_base && sleeps)
			failed = bpf_copy_from_user(to->detail, sizeof(to->detail),
						    (void *)to->event.layout_base);
		else if (to->event.layout_base)
			failed = bpf_probe_read_user(to->detail, sizeof(to->detail),
						     (void *)to->event.layout_base);
		if (failed)
			to->event.layout_base = 0;
	}
	bpf_ringbuf_submit(to, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* Send what was asked for, and then the compilation once more. */
static __noinline __u32 send_copies_and_wait(__u64 stack_pointer, __u64 hold)
{
	struct compile *compile = find_compile(stack_pointer);

	if (!compile)
		return HOLD_TIMED_OUT;
	for (int i = 0; i < FOLLOW_COPIES; i++)
		send_copy(hold, i);
	hold_of(hold)->until_ns = bpf_ktime_get_ns() + hold_of(hold)->copied_limit_ns;
	/* Before it is said that all has been sent: the answer comes after that. */
	*(volatile __u64 *)&hold_of(hold)->word = hold << HOLD_STATE_BITS | HOLD_WAITING;
	if (send_brief(compile, hold))
		return hold_wait(hold);
	ADD(follow.lost, 1);
	return HOLD_TIMED_OUT;
}

/* A module's image may be asked for, and then the code. */
enum { COPIES_IN_A_ROW = 2 };

/* Is the compilation to be reported? As far as it could not be told at its beginning. */
static __always_inline bool is_wanted(struct compile *compile)
{
	bool wanted = compile->kind != COMPILE_UNWANTED;

	/* The module may have become known while it was compiled. */
	if (compile->kind == (COMPILE_STUB | COMPILE_UNKNOWN) && module_state(compile->module)) {
		compile->kind = COMPILE_STUB;
		wanted = module_state(compile->module) & MODULE_STUBS;
	} else if (compile->kind == COMPILE_UNKNOWN) {
		compile->watch = watch_of(compile->module, compile->rid);
		compile->kind = kind_of(compile->module, compile->rid, compile->watch);
		wanted = compile->kind != COMPILE_UNWANTED;
	}
	if (!has_armed())
		return wanted;
	if (!covers_armed(user_u64(compile->code_at), (__u32)user_u32(compile->size_at)))
		return wanted;
	compile->kind = (compile->kind & ~COMPILE_UNWANTED) | COMPILE_REUSED;
	return true;
}

/* Where the new code begins; 0: not known. */
static __noinline __u64 compiled_at(const struct compile *compile)
{
	__u64 code = compile ? user_u64(compile->code_at) : 0;

	return code == UNREADABLE ? 0 : code;
}

/* Is it to be put on a copy? Then the main thread is woken, to undo that. */
static __noinline bool overwrites(__u64 stack_pointer)
{
	const struct compile *compile = find_compile(stack_pointer);
	__u64 wake = 0;

	if (!compile || !overwrites_copies(user_u64(compile->code_at),
					   (__u32)user_u32(compile->size_at), compile->jit_info))
		return false;
	/* No event, but who reads looks at the copies. */
	bpf_ringbuf_output(&events, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP);
	return true;
}

static __always_inline int compile_ended(bpf_user_pt_regs_t *ctx, bool sleeps)
{
	struct compile *compile;
	__u64 hold = 0;
	__u32 state;
	bool sent;

	if (!is_followed())
		return 0;
	compile = find_compile(stack_pointer_of(ctx));
	if (!compile)
		return 0;
	if ((__u32)result_of(ctx)) {
		ADD(follow.failed, 1);
		forget_compile(stack_pointer_of(ctx));
		return 0;
	}
	note_code(compiled_at(compile));
	if (follow.copied && overwrites(stack_pointer_of(ctx)))
		wait_for_undoing(stack_pointer_of(ctx), sleeps);
	if (!is_wanted(compile)) {
		forget_compile(stack_pointer_of(ctx));
		return 0;
	}
	if (compile->kind & COMPILE_UNREADABLE)
		ADD(follow.unreadable, 1);
	if (sleeps)
		hold = hold_prepare(stack_pointer_of(ctx), follow.hold_ns);
	if (compile->kind & (COMPILE_DYNAMIC | COMPILE_UNKNOWN | COMPILE_STUB))
		sent = send_detailed(compile, hold, sleeps);
	else
		sent = send_brief(compile, hold);
	if (!sent) {
		ADD(follow.lost, 1);
	} else if (sleeps && hold) {
		state = hold_wait(hold);
		for (int i = 0; i < COPIES_IN_A_ROW && state == HOLD_COPY; i++)
			state = send_copies_and_wait(stack_pointer_of(ctx), hold);
		hold_end(hold, state);
	}
	forget_compile(stack_pointer_of(ctx));
	return 0;
}

SEC("uprobe")
int compile_end(bpf_user_pt_regs_t *ctx)
{
	return compile_ended(ctx, false);
}

SEC("uprobe.s")
int compile_end_held(bpf_user_pt_regs_t *ctx)
{
	return compile_ended(ctx, true);
}

#endif
