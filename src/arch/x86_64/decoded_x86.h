/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One instruction as Zydis sees it, for all files here that decode some. */
#ifndef ARCH_X86_64_DECODED_X86_H
#define ARCH_X86_64_DECODED_X86_H

#include <Zydis/Zydis.h>

#include "image/cursor.h"

struct decoded {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* The instruction at @offset of @code; false if there is none. */
static inline bool decoded_read(struct decoded *decoded, struct span code, size_t offset)
{
	ZydisDecoder decoder;

	return code.start && offset < code.size &&
	       ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.start + offset,
						   code.size - offset, &decoded->is,
						   decoded->operands));
}

#endif
