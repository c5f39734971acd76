// SPDX-License-Identifier: GPL-2.0-or-later
/* Asked by screen.c before it opens a screen: newterm() loses memory where it fails. */
#include "screen/terminal_type.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool terminal_type_is_drawn_on(void)
{
	const char *found;
	int state;

	if (setupterm(NULL, STDOUT_FILENO, &state) != OK)
		return false;
	found = tigetstr("cup");
	del_curterm(cur_term);
	return found && found != (const char *)-1;
}
