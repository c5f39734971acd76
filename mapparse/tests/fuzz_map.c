// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of crossgen2 --map. */
#include "fuzz_rows.h"

FUZZ_ROWS("Node & Symbol Map\n")
