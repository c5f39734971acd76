// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of perfinfo-PID.map. */
#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	return fuzz_rows("ImageLoad;/a.dll;{a4400f9d-228c-4086-94e1-588251b0132f};(nil);\n", bytes,
			 length);
}
