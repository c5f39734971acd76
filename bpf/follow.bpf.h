/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that follow methods. One runs where the JIT's compileMethod is entered and one
 * where it returns; others where files are mapped. What may be asked for is reported, and the
 * thread is held until place-probe has put a probe on the new code, or the time is up.
 *
 * Holding must yield: a loop that only spins keeps place-probe off the CPU on kernels without
 * preemption. Copying from the own memory by way of the task does yield, if the address is valid.
 *
 * While one run yields, or is preempted, another may begin on the same CPU. From Linux 6.13 on a
 * frame of 64 bytes and more lies in memory that both then share (seen on 6.18: a hold that
 * began at 0). So frames are smaller than that, which a test asserts, and all else is kept in records
 * that belong to one run: of the ring buffer, or of a map under a number or key that no other has.
 */
#ifndef BPF_FOLLOW_BPF_H
#define BPF_FOLLOW_BPF_H

#include "bpf/follow.h"

enum {
	METHOD_CLASS = 7,
	METHOD_CLASS_IS_DYNAMIC = 7,
	RID_ALL_BITS = 24,
	LAYOUT_FLAG_LOADED = 1,

	/* As in src/dotnet/clr_type.c, which says where they are from. */
	TABLE_HAS_COMPONENTS_OR_GENERICS = (int)0x80000030,
	TABLE_CATEGORY_MASK = 0xc0000,
	TABLE_CATEGORY_IS_ARRAY = 0x80000,
	TABLE8_OVERRIDE = 0x10,
	TABLE8_SLOT_MASK = 0x0f,
	TABLE8_FIRST_SLOT = 48,

	HOLD_TURNS_MAX = 1 << 23, /* all that bpf_loop() does */
	COMPILES_MAX = 16384,	  /* under way at a time */
	WATCHED_MAX = 1 << 18,
	MODULES_MAX = 65536,

	MMAP_PROT_READ = 1,
	MMAP_PROT_WRITE = 2,
	MMAP_PROT_EXEC = 4,
	MMAP_SHARED = 1,
	MMAP_PRIVATE = 2,
	MMAP_TYPE = 3,
	MMAP_ANONYMOUS = 0x20,
};

struct follow_shared follow;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WATCHED_MAX);
	__type(key, struct watched_method);
	__type(value, __u32);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MODULES_MAX);
	__type(key, __u64);
	__type(value, __u32);
} modules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1); /* set to the size asked for */
} follow_events SEC(".maps");

/* Reading the runtime's structures -------------------------------------------------------- */

#define ADD(counter, n) ((void)__sync_fetch_and_add(&(counter), (n)))

/* What no field is: it could not be read. It sticks, since nothing can be read near it either. */
#define UNREADABLE (~0ULL)

/* Frames of their own, so that the callers' stay small. */
static __noinline __u64 user_u64(__u64 at)
{
	__u64 value;

	return bpf_probe_read_user(&value, sizeof(value), (void *)at) ? UNREADABLE : value;
}

static __noinline __u64 user_u32(__u64 at)
{
	__u32 value;

	return bpf_probe_read_user(&value, sizeof(value), (void *)at) ? UNREADABLE : value;
}

static __noinline __u64 user_u16(__u64 at)
{
	__u16 value;

	return bpf_probe_read_user(&value, sizeof(value), (void *)at) ? UNREADABLE : value;
}

/* See table_module_8() in src/dotnet/clr_type.c. */
static __noinline __u64 module_of_8(__u64 table)
{
	__u64 flags = user_u32(table), class, flags2, slots, before, at;

	if (flags == UNREADABLE)
		return UNREADABLE;
	if (!(flags & (__u32)TABLE_HAS_COMPONENTS_OR_GENERICS))
		return user_u64(table + follow.layout.table_module);
	if ((flags & TABLE_CATEGORY_MASK) != TABLE_CATEGORY_IS_ARRAY) {
		class = user_u64(table + follow.layout.table_class);
		if (class & 1)
			table = class & ~(__u64)3;
	}
	flags2 = user_u16(table + follow.layout.table_flags2);
	if (!(flags2 & TABLE8_OVERRIDE))
		return user_u64(table + follow.layout.table_module);
	slots = flags2 & TABLE8_SLOT_MASK;
	before = (slots & 1) + (slots >> 1 & 1) + (slots >> 2 & 1) + (slots >> 3 & 1);
	if (before == 1 && (slots & 3) == 2)
		before = 0;
	at = table + TABLE8_FIRST_SLOT + 8 * before;
	if (before >= 2)
		at += 8 * ((user_u16(table + follow.layout.table_virtuals) + 7) / 8);
	return user_u64(at);
}

static __noinline __u64 chunk_of(__u64 desc, __u64 head)
{
	__u8 index = head >> (follow.layout.method_chunk_index * 8 & 63);

	return desc - follow.layout.chunk_bytes - (__u64)index * 8;
}

static __noinline __u64 module_of(__u64 chunk)
{
	__u64 table = user_u64(chunk + follow.layout.chunk_method_table);

	if (table == UNREADABLE)
		return UNREADABLE;
	return follow.layout.is_8 ? module_of_8(table) :
				    user_u64(table + follow.layout.table_module);
}

static __noinline __u64 rid_of(__u64 chunk, __u64 head)
{
	__u32 bits = follow.layout.token_bits & 31;
	__u16 low = head >> (follow.layout.method_token * 8 & 63);
	__u64 high = user_u16(chunk + follow.layout.chunk_token_range);

	if (high == UNREADABLE)
		return UNREADABLE;
	return (high & ((1u << (RID_ALL_BITS - bits)) - 1)) << bits | (low & ((1u << bits) - 1));
}

static __always_inline bool is_dynamic(__u64 head)
{
	__u16 flags = head >> (follow.layout.method_flags * 8 & 63);

	return (flags & METHOD_CLASS) == METHOD_CLASS_IS_DYNAMIC;
}

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

struct {
	__uint(type,
	       BPF_MAP_TYPE_LRU_HASH); /* an exception may end a compilation without its end */
	__uint(max_entries, COMPILES_MAX);
	__type(key, struct compile_key);
	__type(value, struct compile);
} compiles SEC(".maps");

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
	return module_state(module) == MODULE_KNOWN ? COMPILE_UNWANTED : COMPILE_UNKNOWN;
}

static __always_inline bool is_followed(void)
{
	__u32 tgid, tid;

	return follow.following && is_target_process(&tgid, &tid);
}

/* Holding --------------------------------------------------------------------------------- */

static __always_inline struct hold *hold_of(__u64 id)
{
	return &follow.holds[id & (FOLLOW_HOLDS - 1)];
}

/* Before the event is sent that lets the other side release it. 0: nobody is held. */
static __noinline __u64 hold_prepare(__u64 stack_pointer, __u64 limit_ns)
{
	struct hold *hold;
	__u64 id;

	if (!follow.holding)
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
	if (now > *(volatile __u64 *)&follow.alive_ns + FOLLOW_ALIVE_NS)
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

/* Compilations ---------------------------------------------------------------------------- */

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

	for (int i = 0; i < FOLLOW_REGISTERS; i++)
		any |= follow.armed[i] != 0;
	return any;
}

SEC("uprobe")
int compile_begin(struct pt_regs *ctx)
{
	__u64 desc, head, chunk, module = 0, rid = 0;
	struct compile *compile;
	__u32 kind, watch = 0;

	if (!is_followed())
		return 0;
	ADD(follow.compilations, 1);
	desc = user_u64(ctx->rdx);
	head = user_u64(desc);
	if (desc == UNREADABLE || head == UNREADABLE) {
		kind = COMPILE_UNREADABLE;
	} else if (is_dynamic(head)) {
		kind = follow.want_dynamic ? COMPILE_DYNAMIC : COMPILE_UNWANTED;
	} else {
		chunk = chunk_of(desc, head);
		module = module_of(chunk);
		rid = rid_of(chunk, head);
		watch = watch_of(module, rid);
		kind = kind_of(module, rid, watch);
	}
	if (kind == COMPILE_UNWANTED && !has_armed()) {
		/* One that an exception has ended at this depth is not to be taken for this one. */
		forget_compile(ctx->rsp);
		return 0;
	}
	compile = add_compile(ctx->rsp) ? NULL : find_compile(ctx->rsp);
	if (!compile) {
		ADD(follow.lost, 1);
		return 0;
	}
	compile->method_desc = desc;
	compile->jit_info = ctx->rsi;
	compile->code_at = ctx->r8;
	compile->size_at = ctx->r9;
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

static __always_inline bool covers_armed(__u64 code, __u32 size)
{
	bool covers = false;

	for (int i = 0; i < FOLLOW_REGISTERS; i++)
		covers |= follow.armed[i] != 0 && follow.armed[i] - code < size;
	return covers;
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

/* Have the page there: while a record of the ring buffer is taken, all behind it wait. */
static __noinline int touch(__u64 at)
{
	__u8 byte;

	return bpf_copy_from_user(&byte, sizeof(byte), (void *)at) ? 1 : 0;
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
	if (compile->kind & COMPILE_DYNAMIC) {
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

struct copying {
	__u64 base;
	__u64 hold;
	__u32 failed;
	__u32 zero;
};

static long copy_chunk(__u32 i, struct copying *copying)
{
	struct chunk_event *event;

	/* Between sections nothing may be mapped. */
	if (touch(copying->base + i * FOLLOW_CHUNK_BYTES))
		return 0;
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		copying->failed = 1;
		return 1;
	}
	fill_head(&event->head, FOLLOW_CHUNK, 0);
	event->for_hold = copying->hold;
	event->at = i * FOLLOW_CHUNK_BYTES;
	event->size = FOLLOW_CHUNK_BYTES;
	/* The last one reads on to the end of its page. */
	if (bpf_copy_from_user(event->bytes, FOLLOW_CHUNK_BYTES,
			       (void *)(copying->base + event->at)))
		event->size = 0;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* Send the module's image piece by piece. */
static __noinline int send_image(__u64 module, __u64 hold)
{
	struct copying copying = { .hold = hold };
	__u64 assembly = user_u64(module + follow.layout.module_pe_assembly);
	__u64 image = user_u64(assembly + follow.layout.pe_assembly_image);
	__u64 loaded = user_u64(image + follow.layout.pe_image_layout);
	__u64 size = user_u32(loaded + follow.layout.pe_layout_size);

	copying.base = user_u64(loaded + follow.layout.pe_layout_base);
	if (copying.base == UNREADABLE || size > FOLLOW_IMAGE_MAX_BYTES)
		return 0;
	bpf_loop((__u32)(size + FOLLOW_CHUNK_BYTES - 1) / FOLLOW_CHUNK_BYTES, copy_chunk, &copying,
		 0);
	if (copying.failed)
		ADD(follow.lost_other, 1);
	return 0;
}

/* It was asked for: its image, and then the compilation once more. */
static __noinline __u32 send_image_and_wait(__u64 stack_pointer, __u64 hold)
{
	struct compile *compile = find_compile(stack_pointer);

	if (!compile)
		return HOLD_TIMED_OUT;
	send_image(compile->module, hold);
	hold_of(hold)->until_ns = bpf_ktime_get_ns() + follow.image_hold_ns;
	/* Before it is said that all has been sent: the answer comes after that. */
	*(volatile __u64 *)&hold_of(hold)->word = hold << HOLD_STATE_BITS | HOLD_WAITING;
	if (send_brief(compile, hold))
		return hold_wait(hold);
	ADD(follow.lost, 1);
	return HOLD_TIMED_OUT;
}

/* Is the compilation to be reported? As far as it could not be told at its beginning. */
static __always_inline bool is_wanted(struct compile *compile)
{
	bool wanted = compile->kind != COMPILE_UNWANTED;

	/* The module may have become known while it was compiled. */
	if (compile->kind == COMPILE_UNKNOWN) {
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

static __always_inline int compile_ended(struct pt_regs *ctx, bool sleeps)
{
	struct compile *compile;
	__u64 hold = 0;
	__u32 state;
	bool sent;

	if (!is_followed())
		return 0;
	compile = find_compile(ctx->rsp);
	if (!compile)
		return 0;
	if ((__u32)ctx->rax) {
		ADD(follow.failed, 1);
		forget_compile(ctx->rsp);
		return 0;
	}
	if (!is_wanted(compile)) {
		forget_compile(ctx->rsp);
		return 0;
	}
	if (compile->kind & COMPILE_UNREADABLE)
		ADD(follow.unreadable, 1);
	if (sleeps)
		hold = hold_prepare(ctx->rsp, follow.hold_ns);
	if (compile->kind & (COMPILE_DYNAMIC | COMPILE_UNKNOWN))
		sent = send_detailed(compile, hold, sleeps);
	else
		sent = send_brief(compile, hold);
	if (!sent) {
		ADD(follow.lost, 1);
	} else if (sleeps && hold) {
		state = hold_wait(hold);
		if (state == HOLD_COPY)
			state = send_image_and_wait(ctx->rsp, hold);
		hold_end(hold, state);
	}
	forget_compile(ctx->rsp);
	return 0;
}

SEC("uprobe")
int compile_end(struct pt_regs *ctx)
{
	return compile_ended(ctx, false);
}

SEC("uprobe.s")
int compile_end_held(struct pt_regs *ctx)
{
	return compile_ended(ctx, true);
}

/* Files and libraries --------------------------------------------------------------------- */

/* At mmap(): code of an image is private and executable; the image as a file is only read. */
static __always_inline bool may_map_image(const struct pt_regs *ctx)
{
	__u32 prot = ctx->rdx, flags = ctx->rcx;

	if ((__s32)ctx->r8 < 0 || flags & MMAP_ANONYMOUS || prot & MMAP_PROT_WRITE)
		return false;
	if ((flags & MMAP_TYPE) == MMAP_PRIVATE)
		return prot & MMAP_PROT_EXEC;
	return prot == MMAP_PROT_READ;
}

static __always_inline int file_mapped(struct pt_regs *ctx, bool sleeps)
{
	struct mapped_event *event;
	__u64 hold = 0;

	if (!is_followed() || !may_map_image(ctx))
		return 0;
	if (sleeps)
		hold = hold_prepare(ctx->rsp, follow.image_hold_ns);
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		ADD(follow.lost_other, 1);
		return 0;
	}
	fill_head(&event->head, FOLLOW_MAPPED, hold);
	event->address = ctx->rdi;
	event->length = ctx->rsi;
	event->offset = ctx->r9;
	event->fd = (__s32)ctx->r8;
	event->executable = (ctx->rdx & MMAP_PROT_EXEC) != 0;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	if (sleeps && hold)
		hold_end(hold, hold_wait(hold));
	return 0;
}

SEC("uprobe")
int map_begin(struct pt_regs *ctx)
{
	return file_mapped(ctx, false);
}

SEC("uprobe.s")
int map_begin_held(struct pt_regs *ctx)
{
	return file_mapped(ctx, true);
}

/* Where the dynamic loader lets debuggers look: what it has mapped has not run yet. */
SEC("uprobe.s")
int loader_held(struct pt_regs *ctx)
{
	struct follow_event_head *event;
	__u64 hold;

	if (!is_followed())
		return 0;
	hold = hold_prepare(ctx->rsp, follow.image_hold_ns);
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		ADD(follow.lost_other, 1);
		return 0;
	}
	fill_head(event, FOLLOW_LOADED, hold);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	if (hold)
		hold_end(hold, hold_wait(hold));
	return 0;
}

#endif
