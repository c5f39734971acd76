/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that follow methods. One runs where the JIT's compileMethod is entered and one
 * where it returns; others where files are mapped. What may be asked for is reported, and the
 * thread is held until place-probe has put a probe on the new code, or the time is up.
 *
 * Holding must yield: a loop that only spins keeps place-probe off the CPU on kernels without
 * preemption. Copying from the own memory by way of the task does yield, if the address is valid.
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

/* A compilation under way. Compilations nest, so the stack pointer tells them apart. */
struct compile_key {
	__u32 tid;
	__u32 zero;
	__u64 stack_pointer;
};

struct compile {
	__u64 method_desc;
	__u64 jit_info;
	__u64 code_at;
	__u64 size_at;
	__u64 begun_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COMPILES_MAX);
	__type(key, struct compile_key);
	__type(value, struct compile);
} compiles SEC(".maps");

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

static __always_inline __u64 user_u64(__u64 at, bool *bad)
{
	__u64 value = 0;

	*bad |= bpf_probe_read_user(&value, sizeof(value), (void *)at) != 0;
	return value;
}

static __always_inline __u32 user_u32(__u64 at, bool *bad)
{
	__u32 value = 0;

	*bad |= bpf_probe_read_user(&value, sizeof(value), (void *)at) != 0;
	return value;
}

static __always_inline __u16 user_u16(__u64 at, bool *bad)
{
	__u16 value = 0;

	*bad |= bpf_probe_read_user(&value, sizeof(value), (void *)at) != 0;
	return value;
}

/* See table_module_8() in src/dotnet/clr_type.c. */
static __always_inline __u64 module_of_8(__u64 table, bool *bad)
{
	const struct follow_layout *layout = &follow.layout;
	__u32 flags = user_u32(table, bad);
	__u32 slots, before;
	__u64 class, at;
	__u16 flags2;

	if (!(flags & (__u32)TABLE_HAS_COMPONENTS_OR_GENERICS))
		return user_u64(table + layout->table_module, bad);
	if ((flags & TABLE_CATEGORY_MASK) != TABLE_CATEGORY_IS_ARRAY) {
		class = user_u64(table + layout->table_class, bad);
		if (class & 1)
			table = class & ~(__u64)3;
	}
	flags2 = user_u16(table + layout->table_flags2, bad);
	if (!(flags2 & TABLE8_OVERRIDE))
		return user_u64(table + layout->table_module, bad);
	slots = flags2 & TABLE8_SLOT_MASK;
	before = (slots & 1) + (slots >> 1 & 1) + (slots >> 2 & 1) + (slots >> 3 & 1);
	if (before == 1 && (slots & 3) == 2)
		before = 0;
	at = table + TABLE8_FIRST_SLOT + 8 * before;
	if (before >= 2)
		at += 8 * (((__u64)user_u16(table + layout->table_virtuals, bad) + 7) / 8);
	return user_u64(at, bad);
}

struct method {
	__u64 module;
	__u32 rid;
	bool dynamic;
	bool bad;
};

static __always_inline void read_method(__u64 desc, struct method *method)
{
	const struct follow_layout *layout = &follow.layout;
	__u32 bits = layout->token_bits & 31;
	__u64 head = user_u64(desc, &method->bad), chunk, table;
	__u16 low = head >> (layout->method_token * 8 & 63);
	__u8 index = head >> (layout->method_chunk_index * 8 & 63);
	__u16 flags = head >> (layout->method_flags * 8 & 63), high;

	method->dynamic = (flags & METHOD_CLASS) == METHOD_CLASS_IS_DYNAMIC;
	if (method->dynamic)
		return;
	chunk = desc - layout->chunk_bytes - (__u64)index * 8;
	table = user_u64(chunk + layout->chunk_method_table, &method->bad);
	high = user_u16(chunk + layout->chunk_token_range, &method->bad);
	method->rid = (__u32)(high & ((1u << (RID_ALL_BITS - bits)) - 1)) << bits |
		      (low & ((1u << bits) - 1));
	method->module = layout->is_8 ? module_of_8(table, &method->bad) :
					user_u64(table + layout->table_module, &method->bad);
}

/* Is the method asked for, as far as can be told? Then @kind and @watch say more. */
static __always_inline bool is_wanted(const struct method *method, __u32 *kind, __u32 *watch)
{
	const struct watched_method key = { .module = method->module, .rid = method->rid };
	__u32 *value;

	*kind = *watch = 0;
	if (method->bad) {
		*kind = COMPILE_UNREADABLE;
		return true;
	}
	if (method->dynamic) {
		*kind = COMPILE_DYNAMIC;
		return follow.want_dynamic;
	}
	value = bpf_map_lookup_elem(&watched, &key);
	if (value) {
		*watch = *value + 1;
		return true;
	}
	value = bpf_map_lookup_elem(&modules, &method->module);
	if (value && *value == MODULE_KNOWN)
		return false;
	*kind = COMPILE_UNKNOWN;
	return true;
}

static __always_inline bool is_followed(void)
{
	__u32 tgid, tid;

	return follow.following && is_target_process(&tgid, &tid);
}

/* Holding --------------------------------------------------------------------------------- */

struct hold {
	__u64 id; /* from 1; 0: nobody is held */
	__u64 began_ns;
	__u64 until_ns;
	__u64 stack_pointer;
	__u64 state; /* what ended a wait */
};

static __always_inline __u64 *hold_word(__u64 id)
{
	return &follow.holds[id & (FOLLOW_HOLDS - 1)];
}

/* Before the event is sent that lets the other side release it. */
static __always_inline void hold_prepare(struct hold *hold, __u64 stack_pointer, __u64 limit_ns)
{
	hold->id = 0;
	if (!follow.holding)
		return;
	hold->id = __sync_fetch_and_add(&follow.next_hold, 1) + 1;
	hold->began_ns = bpf_ktime_get_ns();
	hold->until_ns = hold->began_ns + limit_ns;
	hold->stack_pointer = stack_pointer;
	*(volatile __u64 *)hold_word(hold->id) = hold->id << HOLD_STATE_BITS | HOLD_WAITING;
}

static long hold_turn(__u32 i, struct hold *hold)
{
	__u64 word = *(volatile __u64 *)hold_word(hold->id), unused;

	if (word != (hold->id << HOLD_STATE_BITS | HOLD_WAITING) || !follow.holding ||
	    bpf_ktime_get_ns() > hold->until_ns)
		return 1;
	bpf_copy_from_user_task(&unused, sizeof(unused), (void *)hold->stack_pointer,
				bpf_get_current_task_btf(), 0);
	return 0;
}

/* Wait for an answer: the state that the other side has set, or HOLD_TIMED_OUT. */
static __always_inline __u64 hold_wait(struct hold *hold)
{
	__u64 waiting = hold->id << HOLD_STATE_BITS | HOLD_WAITING, found;

	bpf_loop(HOLD_TURNS_MAX, hold_turn, hold, 0);
	found = __sync_val_compare_and_swap(hold_word(hold->id), waiting,
					    waiting | HOLD_TIMED_OUT);
	return found == waiting ? HOLD_TIMED_OUT : found & ((1 << HOLD_STATE_BITS) - 1);
}

static __always_inline void hold_end(const struct hold *hold, __u64 state)
{
	__u64 took = bpf_ktime_get_ns() - hold->began_ns;

	if (took > follow.longest_hold_ns)
		follow.longest_hold_ns = took;
	if (state != HOLD_TIMED_OUT) {
		follow.timeouts_in_row = 0;
		return;
	}
	if (!follow.holding) /* it was the other side that ended it */
		return;
	ADD(follow.timeouts, 1);
	if (__sync_fetch_and_add(&follow.timeouts_in_row, 1) + 1 >= FOLLOW_TIMEOUTS_MAX)
		follow.holding = 0;
}

static __always_inline void fill_head(struct follow_event_head *head, __u32 type, __u64 hold)
{
	head->type = type;
	head->tid = (__u32)bpf_get_current_pid_tgid();
	head->time_ns = bpf_ktime_get_ns();
	head->hold = hold;
}

/* Compilations ---------------------------------------------------------------------------- */

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
	struct compile compile = { 0 };
	struct compile_key key = { 0 };
	struct method method = { 0 };
	__u32 kind, watch;

	if (!is_followed())
		return 0;
	ADD(follow.compilations, 1);
	/* Until the runtime's version is known its structures mean nothing. */
	compile.method_desc = user_u64(ctx->rdx, &method.bad);
	if (follow.has_layout && !method.bad)
		read_method(compile.method_desc, &method);
	if (!is_wanted(&method, &kind, &watch) && !has_armed())
		return 0;
	compile.jit_info = ctx->rsi;
	compile.code_at = ctx->r8;
	compile.size_at = ctx->r9;
	compile.begun_ns = bpf_ktime_get_ns();
	key.tid = (__u32)bpf_get_current_pid_tgid();
	key.stack_pointer = ctx->rsp;
	if (bpf_map_update_elem(&compiles, &key, &compile, BPF_ANY))
		ADD(follow.lost, 1);
	return 0;
}

/* Where the module's image lies: base, size and flags. 0 if there is none. */
static __always_inline void read_image(__u64 module, struct compile_event *event)
{
	const struct follow_layout *layout = &follow.layout;
	bool bad = false;
	__u64 assembly = user_u64(module + layout->module_pe_assembly, &bad);
	__u64 image = user_u64(assembly + layout->pe_assembly_image, &bad), loaded;

	event->loader_allocator = user_u64(module + layout->module_loader_allocator, &bad);
	if (bad || !image)
		return;
	loaded = user_u64(image + layout->pe_image_layout, &bad);
	event->layout_base = user_u64(loaded + layout->pe_layout_base, &bad);
	event->layout_size = user_u32(loaded + layout->pe_layout_size, &bad);
	event->layout_flags = user_u32(loaded + layout->pe_layout_flags, &bad);
	if (bad || event->layout_size < FOLLOW_DETAIL_BYTES)
		event->layout_base = 0;
}

static __always_inline bool covers_armed(__u64 code, __u32 size)
{
	bool covers = false;

	for (int i = 0; i < FOLLOW_REGISTERS; i++)
		covers |= follow.armed[i] != 0 && follow.armed[i] - code < size;
	return covers;
}

static __always_inline void fill_event(struct compile_event *event, const struct compile *compile,
				       const struct method *method, __u64 hold)
{
	bool bad = false;

	fill_head(&event->head, FOLLOW_COMPILED, hold);
	event->begun_ns = compile->begun_ns;
	event->method_desc = compile->method_desc;
	event->module = method->module;
	event->rid = method->rid;
	event->jit_flags = user_u64(compile->jit_info + follow.layout.jit_flags, &bad);
	event->loader_allocator = 0;
	event->layout_base = 0;
	event->layout_size = 0;
	event->layout_flags = 0;
}

/* The header by which the image is known again; only programs that may sleep can always read it. */
static __always_inline void read_header(struct detailed_compile_event *to, bool sleeps)
{
	void *header = (void *)to->event.layout_base;
	long failed;

	if (!to->event.layout_base)
		return;
	if (sleeps)
		failed = bpf_copy_from_user(to->detail, sizeof(to->detail), header);
	else
		failed = bpf_probe_read_user(to->detail, sizeof(to->detail), header);
	if (failed)
		to->event.layout_base = 0;
}

static __always_inline bool send_brief(const struct compile_event *from)
{
	struct compile_event *event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);

	if (!event)
		return false;
	*event = *from;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return true;
}

static __always_inline bool send_detailed(const struct compile_event *from,
					  const struct method *method, bool sleeps)
{
	struct detailed_compile_event *to = bpf_ringbuf_reserve(&follow_events, sizeof(*to), 0);
	bool bad = false;
	__u64 name;

	if (!to)
		return false;
	to->event = *from;
	to->detail[0] = 0;
	if (method->dynamic) {
		name = user_u64(from->method_desc + follow.layout.dynamic_name, &bad);
		bpf_probe_read_user_str(to->detail, sizeof(to->detail), (void *)name);
	} else {
		read_image(method->module, &to->event);
		read_header(to, sleeps);
	}
	bpf_ringbuf_submit(to, BPF_RB_FORCE_WAKEUP);
	return true;
}

static __always_inline bool send(const struct compile_event *event, const struct method *method,
				 bool sleeps)
{
	if (event->kind & (COMPILE_DYNAMIC | COMPILE_UNKNOWN) && !method->bad)
		return send_detailed(event, method, sleeps);
	return send_brief(event);
}

struct copying {
	__u64 base;
	__u64 hold;
	__u32 size;
	bool failed;
};

static long copy_chunk(__u32 i, struct copying *copying)
{
	struct chunk_event *event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	__u32 at = i * FOLLOW_CHUNK_BYTES;

	if (!event) {
		copying->failed = true;
		return 1;
	}
	fill_head(&event->head, FOLLOW_CHUNK, 0);
	event->for_hold = copying->hold;
	event->at = at;
	event->size = FOLLOW_CHUNK_BYTES;
	/* Between sections nothing may be mapped. The last one reads on to the end of its page. */
	if (bpf_copy_from_user(event->bytes, FOLLOW_CHUNK_BYTES, (void *)(copying->base + at)))
		event->size = 0;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* Send the image of @event piece by piece. */
static __always_inline void send_image(__u64 module, __u64 hold)
{
	struct copying copying = { .hold = hold };
	const struct follow_layout *layout = &follow.layout;
	bool bad = false;
	__u64 assembly = user_u64(module + layout->module_pe_assembly, &bad);
	__u64 image = user_u64(assembly + layout->pe_assembly_image, &bad), loaded;

	loaded = user_u64(image + layout->pe_image_layout, &bad);
	copying.base = user_u64(loaded + layout->pe_layout_base, &bad);
	copying.size = user_u32(loaded + layout->pe_layout_size, &bad);
	if (bad || copying.size > FOLLOW_IMAGE_MAX_BYTES)
		return;
	bpf_loop((copying.size + FOLLOW_CHUNK_BYTES - 1) / FOLLOW_CHUNK_BYTES, copy_chunk,
		 &copying, 0);
	if (copying.failed)
		ADD(follow.lost_other, 1);
}

/* The compilation that returns here, if it is one to report: into @event but for the hold. */
static __always_inline bool take_compile(struct pt_regs *ctx, struct compile *compile,
					 struct method *method, struct compile_event *event)
{
	struct compile_key key = { .stack_pointer = ctx->rsp };
	struct compile *found;
	bool bad = false, wanted;

	key.tid = (__u32)bpf_get_current_pid_tgid();
	found = bpf_map_lookup_elem(&compiles, &key);
	if (!found)
		return false;
	*compile = *found;
	bpf_map_delete_elem(&compiles, &key);
	if ((__u32)ctx->rax) {
		ADD(follow.failed, 1);
		return false;
	}
	event->code = user_u64(compile->code_at, &bad);
	event->size = user_u32(compile->size_at, &bad);
	if (follow.has_layout)
		read_method(compile->method_desc, method);
	method->bad |= bad;
	wanted = is_wanted(method, &event->kind, &event->watch);
	if (covers_armed(event->code, event->size)) {
		event->kind |= COMPILE_REUSED;
		wanted = true;
	}
	return wanted;
}

static __always_inline int compile_ended(struct pt_regs *ctx, bool sleeps)
{
	struct compile_event event;
	struct compile compile;
	struct method method = { 0 };
	struct hold hold = { 0 };
	__u64 state;

	if (!is_followed() || !take_compile(ctx, &compile, &method, &event))
		return 0;
	if (method.bad)
		ADD(follow.unreadable, 1);
	if (sleeps)
		hold_prepare(&hold, ctx->rsp, follow.hold_ns);
	fill_event(&event, &compile, &method, hold.id);
	if (!send(&event, &method, sleeps)) {
		ADD(follow.lost, 1);
		return 0;
	}
	if (!sleeps || !hold.id)
		return 0;
	state = hold_wait(&hold);
	if (state == HOLD_COPY) {
		send_image(method.module, hold.id);
		/* Before it is said that all has been sent: the answer comes after that. */
		*(volatile __u64 *)hold_word(hold.id) = hold.id << HOLD_STATE_BITS | HOLD_WAITING;
		hold.until_ns = bpf_ktime_get_ns() + follow.image_hold_ns;
		fill_event(&event, &compile, &method, hold.id);
		if (send_brief(&event))
			state = hold_wait(&hold);
		else
			ADD(follow.lost, 1);
	}
	hold_end(&hold, state);
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
	struct hold hold = { 0 };

	if (!is_followed() || !may_map_image(ctx))
		return 0;
	if (sleeps)
		hold_prepare(&hold, ctx->rsp, follow.image_hold_ns);
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		ADD(follow.lost_other, 1);
		return 0;
	}
	fill_head(&event->head, FOLLOW_MAPPED, hold.id);
	event->address = ctx->rdi;
	event->length = ctx->rsi;
	event->offset = ctx->r9;
	event->fd = (__s32)ctx->r8;
	event->executable = (ctx->rdx & MMAP_PROT_EXEC) != 0;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	if (sleeps && hold.id)
		hold_end(&hold, hold_wait(&hold));
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
	struct hold hold = { 0 };

	if (!is_followed())
		return 0;
	hold_prepare(&hold, ctx->rsp, follow.image_hold_ns);
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		ADD(follow.lost_other, 1);
		return 0;
	}
	fill_head(event, FOLLOW_LOADED, hold.id);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	if (hold.id)
		hold_end(&hold, hold_wait(&hold));
	return 0;
}

#endif
