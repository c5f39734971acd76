// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of whatever the bytes are taken for. */
#include "fuzz_rows.h"

FUZZ_ROWS("")
