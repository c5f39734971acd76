// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of perf-PID.map. */
#include "fuzz_rows.h"

FUZZ_ROWS("0x7f3830483c90 5a int32 [app] Program::Thrower(int32)[OptimizedTier1]\n")
