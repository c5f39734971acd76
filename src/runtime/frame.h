/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of a stack, before and after they have names: a raw frame is what BPF has captured, a
 * frame is what outputs get. Runtimes turn one into the other; src/stack/ asks them.
 */
#ifndef RUNTIME_FRAME_H
#define RUNTIME_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "image/space.h"

struct mapping;
struct target_file;

enum frame_kind {
	FRAME_UNKNOWN,
	FRAME_NATIVE,
	FRAME_DOTNET,
	FRAME_STUB, /* code that the runtime makes to get from one place to another */
	FRAME_V8,
};

/* What a format has made of a frame or stack, so that it need not do so again. */
struct rendering {
	char *text; /* NULL: nothing yet */
	size_t length;
	uint64_t recorded; /* what it is in a record (record/tables.c); 0: not there */
};

struct frame {
	enum frame_kind kind;
	bool inlined;	/* into the frame after it */
	bool guessed;	/* found by a frame pointer, for want of anything better */
	bool funclet;	/* a handler of the method */
	bool filter;	/* an exception filter, which is a handler too */
	bool framed;	/* such code keeps a frame pointer: its caller is none that was guessed */
	bool in_file;	/* it has a file_offset */
	bool moved;	/* what it was captured with had moved when it was named */
	bool unmanaged; /* with STACK_FRAMES_MARKED: STACK_FRAMES_MANAGED leaves it out */
	struct address address;
	const char *name;   /* NULL if not known */
	const char *module; /* file name, "[vdso]" and the like; NULL if not known */
	uint64_t offset;    /* from the start of the name, else in the module's file */
	/* Of the address, in the module's file or the vdso's image: the same from run to run. */
	uint64_t file_offset;
	/* In its source, if that is known: else NULL and 0. Lines and columns count from 1. */
	const char *source;
	uint32_t line;
	uint32_t column;
	/* Of a method that a compiler has made: "state machine of App.Orders::Load()"; else NULL. */
	const char *made_from;
	const char *tier; /* of the code, as in JSON; NULL: it has none, or it is not known */
	/* To be filled in by whoever writes it, but for what .guessed says; NULL: not kept. */
	struct rendering *rendering;
};

/* What holds the code of a frame. */
enum raw_place {
	RAW_UNPLACED, /* nothing is mapped there, or it was not looked for */
	RAW_IN_FILE,
	RAW_IN_VDSO,
	RAW_IN_MEMORY, /* of no file that a linker has written */
};

/* What the walk has noted of a frame of V8's: see struct event_v8. */
struct raw_v8 {
	struct event_v8 noted;	  /* with @has_function */
	uint64_t function;	  /* likewise: the JSFunction */
	uint32_t offset;	  /* of bytecode, or the marker */
	uint32_t outer_marker;	  /* of the next frame out, or RAW_V8_NO_MARKER */
	uint64_t outer_pc;	  /* of that one, if it is a function's; 0 */
	uint64_t outer_code;	  /* likewise: as event_v8.code */
	struct event_moves moves; /* when it was noted */
	uint64_t isolate;	  /* 0: not known */
	bool marked;
	bool has_function;
};

#define RAW_V8_NO_MARKER 0xffffffffU

/* What is known of a frame that has no name yet. */
struct raw_frame {
	struct address pc;
	/*
	 * An instruction that tells which function it is. Where a call returns to, that is the call
	 * itself, @step bytes before @pc: what begins at @pc may be another function.
	 */
	struct address look_at;
	unsigned int step;
	uint64_t method; /* the runtime's own handle of the method, if the walk has found it; 0 */
	uint32_t offset; /* with @method: of @pc, from the beginning of that code */
	bool funclet;	 /* with @method: a handler of it */
	const struct raw_v8 *v8; /* NULL: it was not left as one of V8's */
	enum raw_place place;
	const struct mapping *row;	/* that holds look_at; NULL if it is unplaced */
	const struct target_file *file; /* that @row maps, if it is open; NULL */
};

enum { NAMED_FRAMES_MAX = 32 };

/* The frames that a raw one stands for: several where calls were inlined, the innermost first. */
struct named_frames {
	size_t count;
	bool transient; /* other code may come in the place of this: it is not to be remembered */
	/* Of a frame with @v8: .offset and .bytecodes of it did not matter. */
	bool by_pc;
	/* Likewise: it is so called with that very receiver, as long as nothing moves. */
	bool by_object;
	/* Likewise: it is so called by that very code. */
	bool by_outer;
	struct frame frames[NAMED_FRAMES_MAX];
};

/* Names the frames of one runtime, or those of native code. */
struct frame_namer {
	/*
	 * Fill @named if @raw is code that it knows, else leave it alone. What has a method comes
	 * unplaced first; if nobody knows the method, then with its place and without the method.
	 * The caller fills in addresses; strings stay valid until the next call.
	 */
	void (*name)(void *ctx, const struct raw_frame *raw, struct named_frames *named);
	/* A new stack is about to be named. May be NULL. */
	void (*begin)(void *ctx);
	/* Goes up when what was named before may have another name by now. NULL: that cannot be. */
	uint64_t (*version)(const void *ctx);
	void (*destroy)(void *ctx);
	void *ctx;
};

/* The one frame of code in which nothing is inlined. */
static inline struct frame *named_frames_only(struct named_frames *named)
{
	named->count = 1;
	named->frames[0] = (struct frame){ .kind = FRAME_UNKNOWN };
	return &named->frames[0];
}

#endif
