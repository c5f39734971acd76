// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that are probed to learn what probes cost, x86-64. */
#include "arch/calibrate_functions.h"

/* As compilers begin most functions, and the exit without a probe. */
#define FUNCTION(name)                         \
	".p2align 6\n"                         \
	".type " name ", @function\n" name ":" \
	"push %rbp\n"                          \
	"pop %rbp\n"                           \
	"test %edi, %edi\n"                    \
	"je 1f\n" name "_exit:"                \
	"ret\n"                                \
	"1: ret\n"

/* clang-format off */
__asm__(".pushsection .text\n"
	FUNCTION("calibrate_emulated")
	FUNCTION("calibrate_broken")
	FUNCTION("calibrate_bare")
	".type calibrate_stepped, @function\n"
	"calibrate_stepped:\n"
	"test %edi, %edi\n"
	"jne calibrate_emulated_exit\n"
	"ret\n"
	".type calibrate_patchable, @function\n"
	"calibrate_patchable:\n"
	".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"test %edi, %edi\n"
	"jne calibrate_emulated_exit\n"
	"ret\n"
	".type calibrate_call, @function\n"
	"calibrate_call:\n"
	"push %rbp\n"
	"mov %rsp, %rbp\n"
	"push %rbx\n"
	"push %r12\n"
	"push %r13\n"
	"push %r14\n"
	"mov %rdi, %r12\n"
	"mov %rsi, %rbx\n"
	"mov %edx, %r13d\n"
	"1:\n"
	"sub $16, %rsp\n"
	"mov %r13d, %edi\n"
	"call *%r12\n"
	"dec %rbx\n"
	"jne 1b\n"
	"lea -32(%rbp), %rsp\n"
	"pop %r14\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbx\n"
	"pop %rbp\n"
	"ret\n"
	".globl calibrate_emulated, calibrate_stepped, calibrate_broken, calibrate_bare, calibrate_call\n"
	".globl calibrate_patchable, calibrate_exit, calibrate_broken_exit\n"
	".set calibrate_exit, calibrate_emulated_exit\n"
	".popsection\n");
/* clang-format on */
