/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash of bytes, 64 bits wide: the same in every process and on every machine. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a. @hash is HASH_START, or what came of the bytes before these. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* The same of a number, as its bytes are on a little-endian machine. */
static inline uint64_t hash_number(uint64_t hash, uint64_t number)
{
	for (unsigned int shift = 0; shift < 64; shift += 8)
		hash = (hash ^ (uint8_t)(number >> shift)) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
