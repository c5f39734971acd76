/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What terminfo knows of a terminal: apart from screen.c, since <term.h> takes many names. */
#ifndef SCREEN_TERMINAL_TYPE_H
#define SCREEN_TERMINAL_TYPE_H

#include <stdbool.h>

/* Is the type of TERM known, and can the cursor be sent anywhere on it? */
bool terminal_type_is_drawn_on(void);

#endif
