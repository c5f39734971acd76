/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka wants these four before itself. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#endif
