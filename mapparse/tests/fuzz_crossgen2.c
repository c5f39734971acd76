// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of crossgen2 --perfmap. */
#include "fuzz_rows.h"

FUZZ_ROWS("FFFFFFFF 00 3BA02FAD69E9DE75CBAD943E1BB215C3\n")
