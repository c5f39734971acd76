// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of crossgen of 2018. */
#include "fuzz_rows.h"

FUZZ_ROWS("0000000000020D70 36 instance void [app] app.Employee::Work()\n")
