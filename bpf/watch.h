/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is captured of a call for --watch: the small programs that say which bytes of registers and
 * of the target's memory are copied at the entry and at an exit, and the items that they make of
 * it. Made by src/value/, run by bpf/watch.bpf.h; decoded by src/value/ again.
 */
#ifndef BPF_WATCH_H
#define BPF_WATCH_H

#include <linux/types.h>

#include "bpf/async.h"

enum {
	WATCH_CELLS = 8,	 /* scratch words of a program: 64 bits each, 0 at its beginning */
	WATCH_OPS = 192,	 /* of one program, at most */
	WATCH_BYTES = 2040,	 /* of the items of one program, at most */
	WATCH_SLOT_BYTES = 4096, /* of both together: a power of two above that */
	WATCH_COPY = 1024,	 /* of one item, at most; a power of two */

	FILTER_SCRATCHES = 4, /* of each CPU: so many ends can be looked at at a time */
	FILTER_CELLS = 4,     /* of a filter at an entry, number & 3; the last one stays 0 */
	FILTER_TYPES = 4,     /* of exceptions, that a filter asks for */

	WATCH_CALLS = 4096, /* under way at a time, whose values are kept until they end */
	WATCH_SPARE = 64,   /* and of so many more what is captured is sent at once */
};

/*
 * Words that an op can start from. Integer arguments are numbered as the calling convention has
 * them; the register of each is in bpf/arch/. WATCH_ENTRY_CELL + n at an exit: what cell n was when
 * the program at the entry ended, such as the address of an `out` argument.
 */
enum watch_source {
	WATCH_ARGUMENT_0,   /* to WATCH_ARGUMENT_5; entry only */
	WATCH_TID = 6,	    /* of a filter at an entry: as the target has it */
	WATCH_RESULT_0 = 8, /* first and second word of the result; exits only */
	WATCH_RESULT_1,
	WATCH_STACK, /* the stack pointer: at an entry the return address is there */
	/* Of a filter at an exit: */
	WATCH_DECIDED,	       /* WATCH_BITS_CELL of the one at the entry */
	WATCH_TOOK,	       /* how long the call took, in nanoseconds */
	WATCH_HAS_RESULT,      /* 0: it was left otherwise, or by a jump */
	WATCH_LEFT,	       /* 1: it was left otherwise, by an exception and the like */
	WATCH_TYPES,	       /* bit n: the exception is of type n that is asked for */
	WATCH_ENTRY_CELL = 16, /* to + WATCH_CELLS - 1; exits only */
	WATCH_NAME_0 = 24,     /* of a filter at an entry: the thread's name, */
	WATCH_NAME_1,	       /* two words of it, zeros behind it */
	WATCH_WORDS = 32,      /* a power of two above all of them */
};

/*
 * All conditions jump to op number .otherwise of the same program, always further on (so each
 * program ends), or to WATCH_END. An op that reads memory goes on with the next one if
 * .otherwise is 0.
 */
#define WATCH_END 0xffff

enum watch_code {
	WATCH_NONE,  /* no op of a program; of a filter: it has said nothing */
	WATCH_TAKE,  /* cell dst = source .source */
	WATCH_LOAD,  /* cell dst = .size (1, 2, 4, 8) bytes at cell src + .offset, zero-extended; if
			it cannot be read an item of .slot with WATCH_FAULT is made, unless .slot is
			WATCH_NO_SLOT, and .otherwise is next */
	WATCH_MASK,  /* cell dst = cell src & .immediate */
	WATCH_ADD,   /* cell dst = cell src + .immediate */
	WATCH_SHIFT, /* cell dst = cell src >> .immediate */
	WATCH_SUBTRACT,	  /* cell dst = cell dst - cell src */
	WATCH_PUT,	  /* item of .slot: the low .size bytes of cell src */
	WATCH_COPY_FIXED, /* item of .slot: .size bytes at cell src + .offset */
	WATCH_COPY_TIMES, /* likewise cell dst (as u32) << .immediate bytes, at most .size: the item
			     says in .whole how many there would have been */
	WATCH_COPY_CSTRING, /* likewise bytes up to the NUL, at most .size */
	WATCH_IF_ZERO,	    /* next, if cell src is not 0, else .otherwise */
	WATCH_IF_EQUAL,	    /* next, if cell src is .immediate, else .otherwise */
	/* For filters; signed and unsigned: */
	WATCH_IF_BELOW,
	WATCH_IF_BELOW_SIGNED,
	WATCH_IF_SAME_BYTES, /* next, if .size bytes at cell src + .offset are those of constant
				number .immediate; reading fails: undecided */
	/*
	 * What stands for several, which are behind it still: src/capture/fuse.c makes them, of
	 * programs that are whole. Whoever jumps among those finds them as they were.
	 */
	WATCH_PUT_WORDS,   /* .size times TAKE, PUT by cell dst: of a byte of .immediate each, see
			    WATCH_PUT_SIZE_SHIFT, as items of .slot and those after it */
	WATCH_TEST_WORD,   /* TAKE to cell dst, of which .size bytes count, the highest bit of
			    them the other way round if .offset is 1; then .src is the test */
	WATCH_TEST_LOADED, /* likewise LOAD, the highest bit of which is the other way round if
			      .slot is 1; .source is the test. Reading fails: undecided */
	WATCH_ACCEPT,
	WATCH_REJECT,
	WATCH_UNDECIDED, /* something could not be read */
	WATCH_LATER,	 /* the end will decide, of what is in WATCH_BITS_CELL by now */
	WATCH_CODES,
};

#define WATCH_NO_SLOT 0xffff

/* Of a filter: what it has found out at the entry, at most 32 bits. */
enum { WATCH_BITS_CELL = 2 };

/* Of WATCH_PUT_WORDS: a byte has the source, and above that the size - 1. */
enum { WATCH_PUT_SIZE_SHIFT = 5, WATCH_PUTS = 8 };

struct watch_op {
	__u8 code; /* enum watch_code */
	__u8 dst;
	__u8 src;
	__u8 source;
	__u16 size;
	__u16 slot;
	__u16 otherwise;
	__u16 more; /* so many ops behind it belong to it */
	__s32 offset;
	__u64 immediate;
};

/* What IF_SAME_BYTES compares with. */
enum { WATCH_CONSTANT = 128 };

struct watch_constant {
	__u8 bytes[WATCH_CONSTANT] __attribute__((aligned(8)));
};

enum watch_status {
	WATCH_OK,
	WATCH_FAULT,   /* the page is not in memory, or there is none */
	WATCH_NO_ROOM, /* WATCH_BYTES are full */
};

/* What a program has made, one after the other; the bytes follow, up to a multiple of 8. */
struct watch_item {
	__u16 slot; /* of the op that made it: who made the program knows what that is */
	__u8 status;
	__u8 reserved;
	__u16 bytes; /* 0 unless WATCH_OK */
	__u16 reserved2;
	__u64 whole; /* how many bytes there were, of a copy that may be cut */
};

/* By site: where its programs begin among all ops, one behind the other. */
struct watch_program {
	__u32 first;
	__u8 filter_count; /* --if: before the others; 0: there is none */
	__u8 entry_count;
	__u8 exit_count;
	__u8 filter_exit_count; /* behind the others */
};

/* What has become of a call. */
enum watch_fate {
	WATCH_RETURNED,
	WATCH_UNWOUND,	/* left otherwise, by an exception, longjmp() and the like */
	WATCH_ENTERED,	/* and of its end nothing can be seen, or not yet */
	WATCH_NOT_KEPT, /* likewise, for want of room */
	WATCH_UNSEEN,	/* some of its exits had no probe when it ended */
	WATCH_THREAD_ENDED,
	WATCH_RUNNING,	 /* still; told by who reads what is kept at the end */
	WATCH_TAIL_CALL, /* its last act was a jump to another function, which returns for it */
	WATCH_FATES,
};

/* Of the exception that has come by a call, see bpf/thrown.bpf.h. */
enum watch_thrown {
	WATCH_THROWN_LEFT = 1,	   /* it has left the call */
	WATCH_THROWN_REPLACED = 2, /* it is instead of another */
	WATCH_THROWN_DOUBT = 4,	   /* it may be another one that has left the call */
};

/* Behind the frames of a struct hit_event; behind it are the items, those of the entry first. */
struct watch_values {
	__u32 program; /* .first of that which has run */
	__u16 entry_bytes;
	__u16 exit_bytes;
	__u16 fate;	     /* enum watch_fate */
	__u16 thrown;	     /* enum watch_thrown */
	__u16 async_news;    /* enum async_news: of an asynchronous call as a whole, */
	__u16 async_outcome; /* enum async_outcome */
	__u64 async_id;
	__u64 async_ns;	   /* how long it has taken */
	__u64 async_fault; /* MethodTable of the exception that it has faulted by; 0: not known */
	/*
	 * 0, or --if is to be decided by what has left the call: bit n: it is asked for, if n is
	 * what WATCH_TYPES is of that.
	 */
	__u32 types;
	__u32 zero;
};

enum watch_use {
	WATCH_FREE,
	WATCH_CLAIMED,
	WATCH_KEPT, /* its call is under way */
};

/* In 64-bit words: of a struct hit_event without frames. */
enum { WATCH_HIT_WORDS = 9 };

/* What is kept of a call, and in which its programs run. Only the call's own thread touches it. */
struct watch_slot {
	__u32 use; /* enum watch_use */
	__u32 site;
	__u32 first; /* op of the program that runs; then the next one, and the end */
	__u32 next;
	__u32 end;
	__u32 used; /* of .bytes, and how far the program may go */
	__u32 limit;
	__u32 verdict; /* of a filter */
	__u32 thrown;  /* number of the exception that has come by; 0: none has */
	__u32 within;  /* 1: its call ended within another that is followed */
	__u64 entered_ns;
	__u64 stack_pointer;
	struct watch_program program;
	__u64 words[WATCH_WORDS]; /* by enum watch_source */
	__u64 cells[WATCH_CELLS];
	struct async_step async;
	/* As it is sent: */
	__u64 hit[WATCH_HIT_WORDS];
	struct watch_values values;
	/* Wherever an item begins, there is room for the longest. */
	__u8 bytes[WATCH_SLOT_BYTES + WATCH_COPY + 2 * sizeof(struct watch_item)];
};

/* Of calls; all 0 if nothing is missing. */
struct watch_losses {
	__u64 slots; /* there was none to capture in */
	__u64 not_kept;
};

_Static_assert(sizeof(struct watch_op) == 24, "layout is shared");
_Static_assert((int)WATCH_WORDS == 1 << (int)WATCH_PUT_SIZE_SHIFT, "a byte has source and size");
_Static_assert(sizeof(struct watch_program) == 8, "layout is shared");
_Static_assert(sizeof(struct watch_values) == 48, "layout is shared");
_Static_assert((int)WATCH_SLOT_BYTES > 2 * (int)WATCH_BYTES, "what is sent is bounded by a mask");
_Static_assert(sizeof(struct watch_slot) % 8 == 0, "an array that is mapped has no gaps");
_Static_assert(sizeof(struct watch_item) == 16, "layout is shared");

#endif
