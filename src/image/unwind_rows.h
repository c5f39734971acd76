/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing list of unwind rows, in the order of their addresses, and the table of frames that the
 * rows of all images share: what readers of unwind information make, and the BPF unwinder goes by.
 */
#ifndef IMAGE_UNWIND_ROWS_H
#define IMAGE_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

/* Each frame once, its offset left out. All zero to begin with. */
struct unwind_frames {
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	size_t count;
	uint16_t slots[2 * UNWIND_FRAMES_MAX]; /* a hash table of their numbers; 0: none */
};

struct unwind_rows {
	struct unwind_frames *frames; /* not its own */
	struct unwind_row *rows;
	size_t count;
	size_t capacity;
	bool no_memory; /* rows are missing */
};

/*
 * From @begin on the frame is left as @frame says. One that begins where the last one does takes
 * its place; one that says the same is not added. If there is no room for another frame it is
 * UNWIND_UNSUPPORTED.
 */
void unwind_rows_add(struct unwind_rows *rows, uint32_t begin, struct unwind_frame frame);

/* Likewise @count rows of the same frames, each @by further on than it says. */
void unwind_rows_add_moved(struct unwind_rows *rows, uint32_t by, const struct unwind_row *more,
			   size_t count);

/* Where a register is saved that lies @bytes from the CFA, as a frame has it. */
int8_t unwind_place(int64_t bytes);

/* Can a frame's offset be so many bytes? */
bool unwind_offset_fits(int64_t bytes);

void unwind_rows_deinit(struct unwind_rows *rows);

#endif
