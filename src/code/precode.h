/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that .NET puts before a method, where all go that do not know its body. Each
 * architecture answers in a file that carries its name (arch/x86_64/precode_x86.c).
 *
 * Source: dotnet/runtime src/coreclr/vm/<architecture>/thunktemplates.S, FixupPrecodeCode.
 */
#ifndef CODE_PRECODE_H
#define CODE_PRECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/cursor.h"

enum { PRECODE_BYTES = 19 };

/* Where @code, which is at @address, keeps its method. False if it is no FixupPrecode. */
bool precode_method_slot(struct span code, uint64_t address, uint64_t *slot);

#endif
