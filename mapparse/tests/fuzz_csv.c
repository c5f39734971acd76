// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of crossgen2 --mapcsv. */
#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	return fuzz_rows("Rva,Length,Relocs,Section,Symbol,Node Type\n", bytes, length);
}
