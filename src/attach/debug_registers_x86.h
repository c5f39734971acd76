/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What x86-64 has to offer for hardware breakpoints. */
#ifndef ATTACH_DEBUG_REGISTERS_X86_H
#define ATTACH_DEBUG_REGISTERS_X86_H

enum {
	DEBUG_REGISTERS = 4,			     /* DR0 to DR3 */
	DEBUG_REGISTER_EXECUTE_BYTES = sizeof(long), /* the only length the kernel takes for code */
};

#endif
