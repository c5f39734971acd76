/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a frame is left: the rows that user space makes of what compilers and linkers wrote down, and
 * that the BPF unwinder goes by. Compiled by both sides.
 */
#ifndef BPF_UNWIND_H
#define BPF_UNWIND_H

#include <linux/types.h>

/* Where the CFA is: what the stack pointer is in the caller once the call has returned. */
enum unwind_rule {
	UNWIND_UNKNOWN,	    /* there is no information on this code: by the frame pointer */
	UNWIND_DOTNET,	    /* as the .NET runtime finds it out: UNWINDER_DOTNET */
	UNWIND_V8,	    /* by the frame pointer, which V8's code always keeps: UNWINDER_V8 */
	UNWIND_REGISTER,    /* base + offset */
	UNWIND_MEMORY,	    /* what is at base + offset, and .add */
	UNWIND_PLT,	    /* base + 8, and 8 more where the address, modulo 16, is >= offset */
	UNWIND_SIGNAL,	    /* a signal frame: all registers are on the stack */
	UNWIND_OUTERMOST,   /* there is no caller */
	UNWIND_UNSUPPORTED, /* there is information, of a kind that rows cannot express */
};

/* The registers that a walk keeps from frame to frame. */
enum unwind_base {
	UNWIND_SP,
	UNWIND_FP,
	UNWIND_SAVED, /* another that functions leave as it was: arch.dwarf_saved */
	/*
	 * From here on, as DWARF numbers them, all others: they are known only of code that a
	 * signal has interrupted.
	 */
	UNWIND_OTHERS,
};

/* Where the caller's value of a register is: so many units from the CFA, or */
enum {
	UNWIND_SAME = 127,  /* in the register, which the frame has left alone */
	UNWIND_LOST = 126,  /* somewhere that rows cannot express */
	UNWIND_AT_FP = 125, /* where the frame pointer points to */
	UNWIND_PLACES = 125,

	UNWIND_UNIT = 8, /* of offsets, in bytes */
};

/* All that it takes to leave a frame. */
struct unwind_frame {
	__u8 rule;	     /* enum unwind_rule */
	__u8 base;	     /* enum unwind_base */
	__s8 return_address; /* where it is; UNWIND_SAME where the machine has a link register */
	__s8 frame_pointer;  /* where the caller's is */
	__s8 saved;	     /* where the caller's UNWIND_SAVED is */
	__u8 add;	     /* in units */
	__s16 offset;	     /* in units, but for UNWIND_PLT */
};

/*
 * From @begin to the next row's. Frames differ in little but their offsets, so all else is in a
 * table that rows have a number of: a .NET process on x86-64 has 43 frames for its 400,000 rows.
 * UNWIND_SAVED is rbx there, by which the dynamic loader finds its frame where it binds a function.
 * On arm64 the return address of a function that has saved nothing is UNWIND_SAME, which only the
 * first frame and one that a signal has interrupted can have.
 */
struct unwind_row {
	__u32 begin; /* relative to where the image is linked to, or to where code begins */
	__u16 frame;
	__s16 offset;
};

/* What leaves the frames of some code. */
enum unwinder {
	UNWINDER_FRAME_POINTER,
	UNWINDER_ROWS,
	UNWINDER_DOTNET, /* the runtime's own information on code that it has compiled */
	UNWINDER_V8,	 /* frame pointers, with what V8 has on the stack beside them */
};

/* Code of which it is known how its frames are left. */
struct unwind_range {
	__u64 begin;
	__u64 end;
	__u64 base; /* what rows are relative to */
	__u32 first_row;
	__u32 row_count : 24;
	__u32 unwinder : 8; /* enum unwinder; only UNWINDER_ROWS has rows */
};

enum {
	UNWIND_FRAMES_MAX = 1024, /* a power of two; number 0 is UNWIND_UNKNOWN */
	UNWIND_RANGES_MAX = 4096,
	UNWIND_RANGE_STEPS = 13,		       /* halvings that find one of so many */
	UNWIND_ROW_STEPS = 24,			       /* one of 16 million rows */
	UNWIND_ROWS_MAX = (1 << UNWIND_ROW_STEPS) - 1, /* of a range */

	WALK_SCRATCHES = 4, /* of each CPU: so many walks can be under way there */
};

/*
 * The ranges are there twice: those in use, and those that are being written. Which are in use, and
 * how many there are; a walk whose ranges are no longer whole knows it by the version that is
 * written.
 */
struct unwind_table {
	__u64 version; /* its lowest bit says which half is in use */
	__u64 written; /* whose half was written last: .version, or the next in the making */
	__u32 counts[2];
	__u32 elsewhere; /* enum unwinder: of code in no range, such as what is compiled */
	__u32 zero;
};

#define UNWIND_NO_FIELD 0xffffffffU

/*
 * Where .NET keeps what it knows of code that it has compiled: its map of code ranges, and at which
 * offsets the fields of its structures are. No map: there is no such runtime.
 */
struct unwind_dotnet {
	__u64 range_map; /* the address of its top level */
	__u32 fragment_next_at;
	__u32 fragment_section_at;
	__u32 section_begin_at;
	__u32 section_end_at;
	__u32 section_heap_at;
	__u32 heap_map_base_at;
	__u32 heap_nibbles_at;
	__u32 heap_unwind_base_at; /* UNWIND_NO_FIELD: it is the map's base */
	__u32 code_method_at;
	__u32 code_unwind_count_at;
	__u32 code_unwinds_at;
	__u32 nibble_map; /* the version of its encoding */
	__u32 last_stub_kind;
};

/* Values of unwind_v8.isolate_at. */
#define UNWIND_NO_ISOLATE 0x7fffffff

/*
 * Where V8 has in its objects what says which function a frame is of; offsets are of addresses with
 * their tag, so less by one than in the object. Markers: the first word of a frame without a
 * function. Not .present: there is no V8.
 */
struct unwind_v8 {
	__u32 present;
	__s32 function_shared_at;
	__s32 shared_data_at; /* a small integer, and so the next, if there is one: a builtin */
	__s32 shared_untrusted_at; /* UNWIND_NO_FIELD: there is none */
	__s32 shared_script_at;
	__s32 shared_literal_at;
	__s32 script_id_at;
	__s32 isolate_at; /* from the thread pointer: the thread's isolate */
	__u32 marker_entry;
	__u32 marker_construct_entry;
	__u32 marker_builtin_exit;
	__s32 exit_receiver_at; /* of that kind of frame, from its pointer */
};

/* What the runtimes tell the programs beside ranges. */
struct unwind_layouts {
	struct unwind_dotnet dotnet;
	struct unwind_v8 v8;
};

_Static_assert(sizeof(struct unwind_frame) == 8, "layout is shared");
_Static_assert(sizeof(struct unwind_row) == 8, "layout is shared");
_Static_assert(sizeof(struct unwind_range) == 32, "layout is shared");

#endif
