// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of perfinfo-PID.map. */
#include "fuzz_rows.h"

FUZZ_ROWS("ImageLoad;/a.dll;{a4400f9d-228c-4086-94e1-588251b0132f};(nil);\n")
