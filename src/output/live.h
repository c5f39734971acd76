/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live view: what -c, -H and --top show on a terminal meanwhile. Records go into it as into a
 * format, keys change what is shown of them, and lines of a screen come out. It neither reads nor
 * writes anything: session/live.c stands between it and screen/.
 */
#ifndef OUTPUT_LIVE_H
#define OUTPUT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/method_rows.h"
#include "output/output.h"
#include "screen/screen.h"

enum live_kind {
	LIVE_COUNTS,
	LIVE_HISTOGRAMS,
	LIVE_TOP,
};

struct live {
	enum live_kind kind;
	enum time_unit unit;
	struct hist_range linear;
	bool utf8;
	enum rows_key key; /* what it is sorted by */
	bool paused;	   /* nothing new is to come */
	size_t first;	   /* of the body of the view, the line that is shown first */
	size_t page;	   /* lines of it that were shown last */
	size_t body;	   /* and lines that it had */
	struct method_rows rows;
	struct text title, counts; /* what the status has told, */
	uint64_t hits;		   /* the last one */
	bool lossy;
};

/* Lines as they come to stand on a screen. All 0: none. */
struct live_lines {
	struct screen_line *list;
	size_t count;
	size_t capacity;
	bool failed; /* there was no memory for one */
};

void live_init(struct live *live, const struct options *options, bool utf8);
void live_deinit(struct live *live);

/* An output whose records go to @live, which must outlive it. It is not closed. */
struct output live_output(struct live *live, const struct options *options);

enum live_action {
	LIVE_NOTHING,
	LIVE_DRAW,
	LIVE_QUIT,
};

/* A key was pressed: a character or an enum screen_key. */
enum live_action live_key(struct live *live, int key);

/*
 * Lay out @columns and @height lines; @note, which may be NULL, is what was said last. False for
 * want of memory.
 */
bool live_lay_out(struct live *live, size_t columns, size_t height, const char *note,
		  struct live_lines *lines);
void live_lines_deinit(struct live_lines *lines);

#endif
