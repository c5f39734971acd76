// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of whatever the bytes are taken for. */
#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	return fuzz_rows("", bytes, length);
}
