/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a prologue as UNWIND_INFO has them, x86-64; see code/unwind_info.h. Compiled by both
 * sides: place-probe makes rows of those in files, the programs undo those of compiled code.
 */
#ifndef BPF_ARCH_X86_64_UNWIND_CODES_X86_H
#define BPF_ARCH_X86_64_UNWIND_CODES_X86_H

enum unwind_code {
	UNWIND_CODE_PUSH = 0,
	UNWIND_CODE_ALLOC_LARGE = 1,
	UNWIND_CODE_ALLOC_SMALL = 2,
	UNWIND_CODE_SET_FRAME = 3,
	UNWIND_CODE_SAVE = 4,
	UNWIND_CODE_SAVE_FAR = 5,
	UNWIND_CODE_SAVE_XMM = 8,
	UNWIND_CODE_SAVE_XMM_FAR = 9,
	UNWIND_CODE_SET_FRAME_LARGE = 11,
};

enum {
	UNWIND_CODE_RBX = 3, /* as it numbers registers */
	UNWIND_CODE_RBP = 5,
	UNWIND_CODE_FRAME_UNIT = 16, /* of the frame pointer's offset, in bytes */
};

#endif
