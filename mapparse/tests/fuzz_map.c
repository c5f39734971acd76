// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of crossgen2 --map. */
#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	return fuzz_rows("Node & Symbol Map\n", bytes, length);
}
