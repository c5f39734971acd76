/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of the format that docs/record.md describes, for those who write and read it. */
#ifndef RECORD_FORMAT_H
#define RECORD_FORMAT_H

/* As PNG's: what transfers as text, or cuts the eighth bit, damages it visibly. */
#define RECORD_MAGIC "\x89PPR\r\n\x1a\n"

enum {
	RECORD_MAGIC_BYTES = 8,
	RECORD_HEADER_BYTES = 16,
	RECORD_BLOCK_HEADER_BYTES = 24,

	RECORD_MAJOR = 1, /* readers of another one do not read it */
	RECORD_MINOR = 1, /* records, and numbers at the end of records, may have been added */

	RECORD_BLOCK_MAGIC = 0x42525050, /* "PPRB" */

	RECORD_BLOCK_BYTES = 128 << 10,	   /* a block is written once it has so many, unpacked */
	RECORD_BLOCK_MAX_BYTES = 16 << 20, /* and has no more than so many */
	RECORD_STRING_MAX_BYTES = 256 << 10,
	RECORD_STACK_MAX_FRAMES = 1 << 15, /* of one stack */
	RECORD_STACK_MAX_BYTES = 16 << 20, /* of all its strings */

	/* What a reader keeps at most; a writer begins anew before it comes to that. */
	RECORD_STRINGS_MAX = 1 << 20,
	RECORD_STRINGS_MAX_BYTES = 64 << 20,
	RECORD_FRAMES_MAX = 1 << 20,
	RECORD_STACKS_MAX = 1 << 20,
	RECORD_STACK_FRAMES_MAX = 1 << 21, /* of all stacks */
	RECORD_THREADS_MAX = 1 << 20,
	RECORD_KINDS_MAX = 1 << 20,
	RECORD_TOTALS_MAX_BYTES = 64 << 20,
	RECORD_LIST_MAX = 1 << 20, /* of strings, counts and the like */
};

enum record_tag {
	RECORD_FACTS = 1,
	RECORD_START, /* the first hit counts from here */
	RECORD_TARGET,
	RECORD_MAPPING,
	RECORD_RESET, /* numbers begin anew */
	RECORD_STRING,
	RECORD_FRAME,
	RECORD_STACK,
	RECORD_THREAD,
	RECORD_HIT,
	RECORD_KIND,
	RECORD_KIND_COUNT,
	RECORD_KIND_RELEASE,
	RECORD_COUNT, /* of one method */
	RECORD_COUNTS_END,
	RECORD_HIST,
	RECORD_KEPT,
	RECORD_TOTALS_BEGIN,
	RECORD_TOTALS_END,
	RECORD_SITE,
	RECORD_SUMMARY,
	RECORD_END,
	RECORD_RUN, /* what is traced */
};

/* Of a frame. */
enum {
	RECORD_FRAME_INLINED = 1 << 0,
	RECORD_FRAME_IN_FILE = 1 << 1,
};

/* Of a frame in a stack, below its number. */
enum {
	RECORD_IN_STACK_GUESSED = 1 << 0,
	RECORD_IN_STACK_UNMANAGED = 1 << 1,
	RECORD_IN_STACK_BITS = 2,
};

/* Of a site. */
enum {
	RECORD_SITE_FIRST = 1 << 0,
	RECORD_SITE_INLINED_WHOLE = 1 << 1,
	RECORD_SITE_PLACED = 1 << 2,
	RECORD_SITE_BY_ADDRESS = 1 << 3,
	RECORD_SITE_REMAPPED = 1 << 4,
	RECORD_SITE_BY_STUB = 1 << 5,
	RECORD_SITE_FILE_HAS_PATH = 1 << 6,
	RECORD_SITE_FILE_IS_HERE = 1 << 7,
};

#endif
