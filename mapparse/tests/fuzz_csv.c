// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of crossgen2 --mapcsv. */
#include "fuzz_rows.h"

FUZZ_ROWS("Rva,Length,Relocs,Section,Symbol,Node Type\n")
