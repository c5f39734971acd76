// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said on a terminal, and while something else stands on it. */
#include "tests/unit/unit.h"

#include <pty.h>
#include <string.h>

#include "base/log.h"
#include "base/progress.h"

enum { READ_BYTES = 4096 };

/* Standard error as a terminal, and what has come there. */
struct terminal {
	int ours, theirs, before;
	char text[READ_BYTES];
};

static void open_terminal(struct terminal *terminal)
{
	*terminal = (struct terminal){ 0 };
	assert_int_equal(openpty(&terminal->ours, &terminal->theirs, NULL, NULL, NULL), 0);
	terminal->before = dup(STDERR_FILENO);
	assert_int_equal(dup2(terminal->theirs, STDERR_FILENO), STDERR_FILENO);
}

static void close_terminal(const struct terminal *terminal)
{
	dup2(terminal->before, STDERR_FILENO);
	close(terminal->before);
	close(terminal->ours);
	close(terminal->theirs);
}

/* All that has come until now: what is written comes a moment later, in order. */
static const char *read_terminal(struct terminal *terminal)
{
	size_t length = 0;

	assert_int_equal(write(terminal->theirs, "\f", 1), 1);
	do {
		ssize_t more = read(terminal->ours, terminal->text + length,
				    sizeof(terminal->text) - 1 - length);

		assert_true(more > 0);
		length += (size_t)more;
	} while (terminal->text[length - 1] != '\f');
	terminal->text[length - 1] = '\0';
	return terminal->text;
}

UNIT_TEST(lines_wait_until_the_screen_is_gone)
{
	struct terminal terminal;

	open_terminal(&terminal);
	assert_null(log_last());
	log_print("before");
	assert_string_equal(read_terminal(&terminal), "place-probe: before\r\n");
	log_hold();
	assert_null(log_last());
	log_print("one\x1b");
	log_print("two %d", 2);
	assert_string_equal(log_last(), "two 2");
	assert_string_equal(read_terminal(&terminal), "");
	log_release();
	assert_null(log_last());
	assert_string_equal(read_terminal(&terminal),
			    "place-probe: one?\r\nplace-probe: two 2\r\n");
	close_terminal(&terminal);
}

UNIT_TEST(a_file_has_lines_at_once)
{
	char text[READ_BYTES];
	int ends[2], before = dup(STDERR_FILENO);
	ssize_t length;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	log_hold();
	log_print("now");
	length = read(ends[0], text, sizeof(text));
	dup2(before, STDERR_FILENO);
	assert_string_equal(log_last(), "now");
	log_release();
	assert_int_equal(length, strlen("place-probe: now\n"));
	close(before);
	close(ends[0]);
	close(ends[1]);
}

UNIT_TEST(progress_is_shown_and_taken_away)
{
	struct terminal terminal;
	const char *shown = "";

	open_terminal(&terminal);
	progress_tell("reading", 0, 9);
	progress_start();
	progress_tell("reading", 1, 9);
	/* What is over soon is not worth a line. */
	assert_string_equal(read_terminal(&terminal), "");
	while (!*shown) {
		progress_tell("reading", 11, 184);
		shown = read_terminal(&terminal);
	}
	assert_string_equal(shown, "\rreading: 12 of 184 ...\r");
	log_print("said");
	assert_string_equal(read_terminal(&terminal),
			    "\r                      \rplace-probe: said\r\n");
	progress_stop();
	progress_tell("reading", 12, 184);
	assert_string_equal(read_terminal(&terminal), "");
	close_terminal(&terminal);
}

UNIT_MAIN(NULL, NULL)
