// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terminal, by ncurses: lines go to it from session/live.c, and its keys come from it. Signals
 * only leave a note, and what they ask for is done when a key is asked for.
 */
#include "screen/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "screen/terminal_type.h"

enum {
	ESCAPE_MS = 20, /* so long a key that sends several characters may take */
	COLOURS_MIN = 8,
};

enum colours {
	COLOURS_BAR = 1,
	COLOURS_ALERT,
};

struct screen {
	SCREEN *terminal;
	FILE *in; /* where keys come from; /dev/null if that is no terminal */
	bool has_keys;
	int input_fd;	/* -1: no keys come, now at least */
	size_t columns; /* of the environment; 0: it does not say */
	bool utf8;
	bool coloured;
	bool away; /* the terminal is as it was, until the process is in the foreground */
	struct sigaction stop, go_on, resize; /* as they were */
};

static volatile sig_atomic_t stop_asked, resized;

static void on_signal(int number)
{
	if (number == SIGTSTP)
		stop_asked = 1;
	else
		resized = 1;
}

static bool in_foreground(void)
{
	return tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

bool screen_is_possible(void)
{
	const char *type = getenv("TERM");

	return isatty(STDOUT_FILENO) && in_foreground() && type && *type &&
	       strcmp(type, "dumb") != 0;
}

/* Opening and closing ------------------------------------------------------------------------- */

static size_t columns_of_environment(void)
{
	const char *text = getenv("COLUMNS");
	long columns = text ? strtol(text, NULL, 10) : 0;

	return columns > 0 && columns < INT16_MAX ? (size_t)columns : 0;
}

/* As https://no-color.org has it. */
static bool wants_colours(void)
{
	const char *none = getenv("NO_COLOR");

	return !none || !*none;
}

static void choose_colours(struct screen *screen)
{
	screen->coloured = wants_colours() && has_colors() && start_color() == OK &&
			   use_default_colors() == OK && COLORS >= COLOURS_MIN;
	if (!screen->coloured)
		return;
	init_pair(COLOURS_BAR, COLOR_CYAN, -1);
	init_pair(COLOURS_ALERT, COLOR_RED, -1);
}

static void catch_signals(struct screen *screen)
{
	const struct sigaction catch = { .sa_handler = on_signal };

	stop_asked = resized = 0;
	sigaction(SIGTSTP, &catch, &screen->stop);
	sigaction(SIGCONT, &catch, &screen->go_on);
	sigaction(SIGWINCH, &catch, &screen->resize);
	/* A shell without job control wants it ignored: nobody would let us go on. */
	if (screen->stop.sa_handler == SIG_IGN)
		sigaction(SIGTSTP, &screen->stop, NULL);
}

static void leave_signals(const struct screen *screen)
{
	sigaction(SIGTSTP, &screen->stop, NULL);
	sigaction(SIGCONT, &screen->go_on, NULL);
	sigaction(SIGWINCH, &screen->resize, NULL);
}

static void set_up(struct screen *screen)
{
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	choose_colours(screen);
	resized = 1;
}

static int open_terminal(struct screen *screen)
{
	screen->has_keys = isatty(STDIN_FILENO);
	screen->input_fd = screen->has_keys ? STDIN_FILENO : -1;
	if (!terminal_type_is_drawn_on())
		return -ENOTSUP;
	screen->in = screen->has_keys ? stdin : fopen("/dev/null", "re");
	if (!screen->in)
		return -errno;
	/* The environment's size would hold however the terminal changes: take_size(). */
	use_env(FALSE);
	screen->terminal = newterm(NULL, stdout, screen->in);
	if (!screen->terminal && screen->in != stdin)
		fclose(screen->in);
	return screen->terminal ? 0 : -ENOTSUP;
}

int screen_open(struct screen **out, struct error *err)
{
	struct screen *screen = calloc(1, sizeof(*screen));
	int result;

	if (!screen)
		return error_set(err, -ENOMEM, "no memory for the screen");
	setlocale(LC_CTYPE, "");
	screen->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	screen->columns = columns_of_environment();
	/* ncurses takes those signals only that nobody has. */
	catch_signals(screen);
	result = open_terminal(screen);
	if (result) {
		leave_signals(screen);
		setlocale(LC_CTYPE, "C");
		free(screen);
		return error_set(err, result, "cannot draw on this terminal: %s; use --format=text",
				 strerror(-result));
	}
	set_up(screen);
	*out = screen;
	return 0;
}

void screen_close(struct screen *screen)
{
	if (!screen)
		return;
	if (!screen->away)
		endwin();
	delscreen(screen->terminal);
	leave_signals(screen);
	if (screen->in != stdin)
		fclose(screen->in);
	setlocale(LC_CTYPE, "C");
	free(screen);
}

/* Stopping and going on ----------------------------------------------------------------------- */

/* Returns once it has been told to go on; in the background, perhaps. */
static void stop(struct screen *screen)
{
	const struct sigaction as_usual = { .sa_handler = SIG_DFL };
	struct sigaction ours;

	stop_asked = 0;
	if (!screen->away)
		endwin();
	screen->away = true;
	screen->input_fd = -1;
	sigaction(SIGTSTP, &as_usual, &ours);
	raise(SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
}

/* True if the terminal is ours, and drawn on. */
static bool come_back(struct screen *screen)
{
	if (!screen->away)
		return true;
	if (!in_foreground())
		return false;
	screen->away = false;
	screen->input_fd = screen->has_keys ? STDIN_FILENO : -1;
	resized = 1;
	return true;
}

/* Drawing ------------------------------------------------------------------------------------- */

bool screen_is_utf8(const struct screen *screen)
{
	return screen->utf8;
}

void screen_size(const struct screen *screen, size_t *columns, size_t *lines)
{
	*columns = (size_t)(COLS > 0 ? COLS : 1);
	*lines = (size_t)(LINES > 0 ? LINES : 1);
	if (screen->columns && screen->columns < *columns)
		*columns = screen->columns;
}

static attr_t attributes_of(const struct screen *screen, enum screen_style style, short *pair)
{
	*pair = 0;
	switch (style) {
	case SCREEN_TITLE:
		return A_BOLD;
	case SCREEN_HEADING:
		return A_REVERSE;
	case SCREEN_ALERT:
		*pair = screen->coloured ? COLOURS_ALERT : 0;
		return A_BOLD;
	case SCREEN_HELP:
		return A_DIM;
	default:
		return A_NORMAL;
	}
}

static void draw_line(const struct screen *screen, int y, const struct screen_line *line)
{
	short pair;
	attr_t attributes = attributes_of(screen, line->style, &pair);

	mvaddstr(y, 0, line->text);
	mvchgat(y, 0, -1, attributes, pair, NULL);
	if (line->bar_columns && screen->coloured)
		mvchgat(y, (int)line->bar_at, (int)line->bar_columns, A_NORMAL, COLOURS_BAR, NULL);
}

/* Ctrl-S stops a terminal: nobody is to wait for it, least of all who takes events over. */
static bool takes_more(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&output, 1, 0) > 0 && output.revents & POLLOUT;
}

void screen_draw(struct screen *screen, const struct screen_line *lines, size_t count)
{
	if (!come_back(screen) || !takes_more())
		return;
	erase();
	for (size_t i = 0; i < count && i < (size_t)LINES; i++)
		draw_line(screen, (int)i, &lines[i]);
	refresh();
}

/* Keys ---------------------------------------------------------------------------------------- */

const int *screen_input(const struct screen *screen)
{
	return &screen->input_fd;
}

static void take_size(void)
{
	struct winsize size;

	resized = 0;
	/* Whoever had the terminal in the meantime may have changed it. */
	reset_prog_mode();
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

/* A terminal that has gone could always be read. */
static void look_for_end(struct screen *screen)
{
	struct pollfd input = { .fd = screen->input_fd, .events = POLLIN };

	if (poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLERR | POLLNVAL))
		screen->input_fd = -1;
}

static int read_key(struct screen *screen)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{ KEY_UP, SCREEN_KEY_UP },	   { KEY_DOWN, SCREEN_KEY_DOWN },
		{ KEY_LEFT, SCREEN_KEY_LEFT },	   { KEY_RIGHT, SCREEN_KEY_RIGHT },
		{ KEY_PPAGE, SCREEN_KEY_PAGE_UP }, { KEY_NPAGE, SCREEN_KEY_PAGE_DOWN },
		{ KEY_HOME, SCREEN_KEY_HOME },	   { KEY_END, SCREEN_KEY_END },
	};
	int code = screen->input_fd >= 0 ? wgetch(stdscr) : ERR;

	if (code == ERR) {
		look_for_end(screen);
		return SCREEN_KEY_NONE;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].curses == code)
			return keys[i].key;
	}
	return code > 0 && code < 0x80 ? code : SCREEN_KEY_OTHER;
}

int screen_key(struct screen *screen)
{
	if (stop_asked)
		stop(screen);
	if (!come_back(screen))
		return SCREEN_KEY_NONE;
	if (resized) {
		take_size();
		return SCREEN_KEY_REDRAW;
	}
	return read_key(screen);
}
