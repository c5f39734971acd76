/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs that follow methods and place-probe say to each other: the records of their
 * ring buffer, and the memory that both sides read and write while it goes on.
 */
#ifndef BPF_FOLLOW_H
#define BPF_FOLLOW_H

#include <linux/types.h>

#include "bpf/arch/arch.h"
#include "bpf/cookie.h"

enum {
	FOLLOW_HOLDS = 1024, /* threads that are held at a time; a power of two */
	FOLLOW_DETAIL_BYTES = 512,
	FOLLOW_CHUNK_BYTES = 4096,
	FOLLOW_COPIES = 2,		 /* ranges of memory that are asked for at once */
	FOLLOW_COPY_MAX_BYTES = 6 << 20, /* of one */
	FOLLOW_TIMEOUTS_MAX = 3,	 /* after so many in a row nobody is held any more */
};

enum follow_event_type {
	FOLLOW_COMPILED, /* the JIT has compiled a method that may be asked for */
	FOLLOW_MAPPED,	 /* a file is about to be mapped */
	FOLLOW_LOADED,	 /* the dynamic loader has mapped or unmapped something */
	FOLLOW_CHUNK,	 /* a piece of memory that was asked for */
};

/* Of struct compile_event. */
enum compile_kind {
	COMPILE_DYNAMIC = 1, /* DynamicMethod or a stub: it has no metadata; `detail` is its name */
	COMPILE_UNKNOWN =
		2, /* its module is not known, or may have changed; `detail` is its header */
	COMPILE_REUSED = 4,	/* its code lies where a breakpoint is */
	COMPILE_UNREADABLE = 8, /* the method could not be read */
	/*
	 * A stub by which P/Invokes of its module go, any that look alike. `detail` is the
	 * signature: how long it is, as 16 bits, and its bytes if there is room; or, with
	 * COMPILE_UNKNOWN, the header.
	 */
	COMPILE_STUB = 16,
};

struct follow_event_head {
	__u32 type; /* enum follow_event_type */
	__u32 tid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 hold;    /* 0: the thread is not held; else for release, see below */
};

struct compile_event {
	struct follow_event_head head;
	__u64 begun_ns;
	__u64 method_desc;
	__u64 module;
	__u64 code;
	__u64 jit_flags;
	__u32 size;
	__u32 rid;
	__u32 watch; /* the value that the map of watched methods has for it, + 1; 0: none */
	__u32 kind;  /* of enum compile_kind */
	/*
	 * Where its code lies until it is put in its place: from the header before it on, with all
	 * the data that goes with it; and the unwind information that goes there later. 0: not
	 * known.
	 */
	__u64 written_at;
	__u64 unwinds_at;
	__u32 written_size;
	__u32 unwind_count;
	/* Of its module; only in detailed events. */
	__u64 loader_allocator;
	__u64 layout_base; /* of the image; 0 if not known */
	__u32 layout_size;
	__u32 layout_flags;
};

/* With COMPILE_DYNAMIC or COMPILE_UNKNOWN. */
struct detailed_compile_event {
	struct compile_event event;
	__u8 detail[FOLLOW_DETAIL_BYTES];
};

struct mapped_event {
	struct follow_event_head head;
	__u64 address; /* 0: where the kernel likes */
	__u64 length;
	__u64 offset;
	__s32 fd;
	__u32 executable;
};

struct chunk_event {
	struct follow_event_head head;
	__u64 for_hold; /* of the compile_event that the memory was asked for */
	__u32 copy;	/* which of the ranges */
	__u32 at;	/* in it */
	__u32 size;	/* 0: it could not be read */
	__u32 zero;
	__u8 bytes[FOLLOW_CHUNK_BYTES];
};

/* Where fields lie in the runtime's structures; see src/runtime/dotnet/layout.h. */
struct follow_layout {
	__u32 method_token;
	__u32 method_chunk_index;
	__u32 method_flags;
	__u32 chunk_method_table;
	__u32 chunk_token_range;
	__u32 chunk_bytes;
	__u32 token_bits;
	__u32 table_module;
	__u32 table_flags2;
	__u32 table_virtuals;
	__u32 table_class;
	__u32 is_8; /* the module may lie in a slot of its own */
	__u32 module_pe_assembly;
	__u32 module_loader_allocator;
	__u32 pe_assembly_image;
	__u32 pe_image_layout;
	__u32 pe_layout_base;
	__u32 pe_layout_size;
	__u32 pe_layout_flags;
	__u32 dynamic_name;
	__u32 stored_sig;
	__u32 stored_sig_size;
	/* Of ICorJitInfo as the runtime implements it, and of a body's header. */
	__u32 jit_flags;
	__u32 jit_code_header;
	__u32 jit_code_written;
	__u32 jit_code_size;
	__u32 unwind_count;
	__u32 unwinds;
};

/* A hold's word is its number, shifted, with one of these. */
enum hold_state {
	HOLD_WAITING,
	HOLD_RELEASED,
	HOLD_COPY, /* send the memory that .copies says, and wait on */
	HOLD_TIMED_OUT,
	HOLD_STATE_BITS = 2,
};

/* A range of the target's memory; of 0 bytes: none. */
struct hold_copy {
	__u64 at;
	__u64 size;
};

/* One that waits, or has waited; by its number, so no two have the same at a time. */
struct hold {
	__u64 word;
	__u64 began_ns;
	__u64 until_ns;
	__u64 stack_pointer;
	/* Set before HOLD_COPY: what is asked for, and how long it may wait when that is sent. */
	struct hold_copy copies[FOLLOW_COPIES];
	__u64 copied_limit_ns;
};

struct follow_shared {
	/* Set from outside. */
	struct follow_layout layout;
	__u64 hold_ns;
	__u64 image_hold_ns;
	__u64 heartbeat_ns;	  /* the last one of who answers */
	__u64 heartbeat_limit_ns; /* after so long without one it is taken for dead */
	__u32 following;	  /* 0: nothing is reported */
	__u32 holding;		  /* 0: nobody is held; turned off by either side */
	__u32 want_dynamic;	  /* 1: dynamic methods are asked for */
	__u32 want_stubs;	  /* 1: stubs of P/Invokes are asked for, in modules that say so */
	__u32 want_code;	  /* 1: where the code of new bodies lies is asked for */
	__u32 has_layout;
	__u32 ended; /* 1: what comes is still reported, and nobody waits for an answer */
	/* How many pages are copies, which nobody is to write; 0: there are none any more. */
	__u32 copied;
	__u32 compiler_watched;	      /* each compilation that ends is seen */
	__u64 armed[DEBUG_REGISTERS]; /* code that others may be put in the place of; 0: none */

	/* Set by the programs. */
	__u64 next_hold;
	__u64 timeouts_in_row;
	__u64 lost;	  /* compilations that could not be reported */
	__u64 lost_other; /* likewise files and pieces of images */
	__u64 unreadable;
	__u64 compilations;
	__u64 failed;
	__u64 longest_hold_ns;
	__u64 overwritten;	/* code that is about to be put on a copy; 0: none */
	__u64 overwritten_late; /* threads that have not waited until it was none */
	__u64 last_hit_ns[DEBUG_REGISTERS];
	struct hold holds[FOLLOW_HOLDS];
};

/* Key of the map of watched methods. */
struct watched_method {
	__u64 module;
	__u32 rid;
	__u32 zero;
};

/* Value of the map of modules. */
enum module_state {
	MODULE_KNOWN = 1, /* its watched methods are all in the map */
	MODULE_ASK,	  /* report each of its methods */
	MODULE_STUBS = 4, /* and this, if it has watched P/Invokes: those are all in the map */
};

/*
 * A stub that several P/Invokes share has the number of the method that is called in a register.
 * Key of the map from those to sites; the `watch` of a method is as in struct compile_event, 0
 * stands for all others.
 */
struct stub_key {
	__u64 address;
	__u32 watch;
	__u32 zero;
};

/* Value of the map from addresses to sites. */
struct breakpoint_site {
	__u64 cookie; /* as a uprobe's, see bpf/cookie.h */
	__u32 slot;
	__u32 zero;
};

_Static_assert(sizeof(struct follow_event_head) == 24, "layout is shared");
_Static_assert(sizeof(struct compile_event) == 128, "layout is shared");
_Static_assert(sizeof(struct detailed_compile_event) == 128 + FOLLOW_DETAIL_BYTES,
	       "layout is shared");
_Static_assert(sizeof(struct breakpoint_site) == 16, "layout is shared");
_Static_assert(sizeof(struct mapped_event) == 56, "layout is shared");

#endif
