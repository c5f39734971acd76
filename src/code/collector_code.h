/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What finding where .NET's collector is done asks of machine code. Each architecture answers in a
 * file that carries its name (arch/x86_64/collector_x86.c).
 */
#ifndef CODE_COLLECTOR_CODE_H
#define CODE_COLLECTOR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COLLECTOR_CODE_MAX = 24 }; /* bytes of a function that is looked at */

/* Does the function @code store its second argument in one word of data, and nothing else? */
bool collector_code_stores(const uint8_t *code, size_t size);

#endif
