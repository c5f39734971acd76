/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nibble map of a .NET code heap, which marks where bodies begin. Read by the unwinder in BPF
 * (unwind_dotnet.bpf.h) and by user space (codeheap.c, stub_code.c).
 *
 * It has a unit of 32 bits for each 256 bytes of code, and in that a nibble for each 32 of them,
 * the most significant for the lowest addresses. A nibble n that is not 0 marks the beginning of a
 * body, 4 (n - 1) bytes further on. From version 2 (.NET 10) on, a unit in the middle of a long
 * body says where that begins, and marks nothing.
 *
 * Source of the format: dotnet/runtime src/coreclr/inc/nibblemapmacros.h, and
 * docs/design/datacontracts/ExecutionManager.md (contract versions 1 and 2).
 */
#ifndef BPF_NIBBLE_MAP_H
#define BPF_NIBBLE_MAP_H

#include <linux/types.h>
#include <stdbool.h>

enum {
	NIBBLE_UNIT_BYTES = 256, /* of code */
	NIBBLE_UNIT_BITS = 32,
	NIBBLE_BITS = 4,
	NIBBLE_MASK = 15,
	NIBBLE_BYTES = 32, /* of code */
	NIBBLE_STEP = 4,
	NIBBLES_OF_UNIT = NIBBLE_UNIT_BITS / NIBBLE_BITS,
	NIBBLE_POINTER = 9, /* a last nibble from here on: the unit says where a body begins */
};

/* The BPF verifier must see what it is called with. */
#define NIBBLE_INLINE static inline __attribute__((always_inline))

/* Does @unit, of a map of @version, say where a body begins that it is in the middle of? */
NIBBLE_INLINE bool nibble_is_pointer(__u32 version, __u32 unit)
{
	return version >= 2 && (unit & NIBBLE_MASK) >= NIBBLE_POINTER;
}

/* How far up in its unit nibble @number is; number 0 is for the lowest addresses. */
NIBBLE_INLINE __u32 nibble_shift(__u32 number)
{
	return NIBBLE_UNIT_BITS - NIBBLE_BITS * (number + 1);
}

/* What @nibble, not 0, number @number of unit @index, marks; @base is that of the map. */
NIBBLE_INLINE __u64 nibble_start(__u64 base, __u64 index, __u32 number, __u32 nibble)
{
	return base + index * NIBBLE_UNIT_BYTES + number * NIBBLE_BYTES +
	       (nibble - 1) * NIBBLE_STEP;
}

/* Where the last body begins that @unit, number @index, knows of; 0: of none. */
NIBBLE_INLINE __u64 nibble_last(__u32 version, __u64 base, __u64 index, __u32 unit)
{
	if (nibble_is_pointer(version, unit))
		return base + (unit & ~(__u32)NIBBLE_MASK) +
		       ((unit & NIBBLE_MASK) - NIBBLE_POINTER) * NIBBLE_STEP;
	for (__u32 i = 0; i < NIBBLES_OF_UNIT; i++) {
		__u32 nibble = unit >> (i * NIBBLE_BITS) & NIBBLE_MASK;

		if (nibble)
			return nibble_start(base, index, NIBBLES_OF_UNIT - 1 - i, nibble);
	}
	return 0;
}

/* @unit without the bodies that begin behind @offset in it. */
NIBBLE_INLINE __u32 nibble_before(__u32 version, __u32 unit, __u32 offset)
{
	__u32 shift = nibble_shift(offset / NIBBLE_BYTES);
	__u32 nibble = unit >> shift & NIBBLE_MASK;

	if (nibble_is_pointer(version, unit))
		return unit;
	if (nibble && (nibble - 1) * NIBBLE_STEP > offset % NIBBLE_BYTES)
		shift += NIBBLE_BITS;
	return shift >= NIBBLE_UNIT_BITS ? 0 : unit >> shift << shift;
}

#endif
