/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal that standard output is, as a screen that is drawn anew, and its keys. While it is
 * open, nothing else may be written there. There is one at a time.
 */
#ifndef SCREEN_SCREEN_H
#define SCREEN_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct screen;

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_TITLE,
	SCREEN_HEADING,
	SCREEN_ALERT, /* something is wrong */
	SCREEN_HELP,
};

struct screen_line {
	char *text; /* no wider than the screen */
	enum screen_style style;
	size_t bar_at; /* columns of a bar in it; 0 of them: it has none */
	size_t bar_columns;
};

/* Keys, beside those that are characters. */
enum screen_key {
	SCREEN_KEY_NONE = 0,
	SCREEN_KEY_UP = 256,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_OTHER,
	SCREEN_KEY_REDRAW, /* the screen has another size, or has come back */
};

/*
 * Can there be one? Standard output must be a terminal of ours, and not a dumb one; of a process in
 * the background it is not.
 */
bool screen_is_possible(void);

/* -errno with @err set; then the terminal is as it was. LC_CTYPE is the user's while it is open. */
int screen_open(struct screen **screen, struct error *err);

/* The terminal is as it was before, with what stood there. @screen may be NULL. */
void screen_close(struct screen *screen);

/* Is it to be written in UTF-8? */
bool screen_is_utf8(const struct screen *screen);

/* COLUMNS of the environment makes it narrower. */
void screen_size(const struct screen *screen, size_t *columns, size_t *lines);

/* Nothing is drawn while the process is in the background, or the terminal is stopped (Ctrl-S). */
void screen_draw(struct screen *screen, const struct screen_line *lines, size_t count);

/*
 * The next key that was pressed, a character or an enum screen_key; it never waits for one. Where
 * standard input is no terminal there are none. A process that was told to stop (Ctrl-Z) stops in
 * here, with the terminal as it was.
 */
int screen_key(struct screen *screen);

/* What can be read when there is a key; -1: there will be none. */
const int *screen_input(const struct screen *screen);

#endif
