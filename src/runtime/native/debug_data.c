// SPDX-License-Identifier: GPL-2.0-or-later
/* Unpacks .gnu_debugdata, for functions.c. */
#include "runtime/native/debug_data.h"

#include <lzma.h>
#include <stdlib.h>

#include "image/elf.h"

enum {
	UNPACKED_MAX_BYTES = 64 << 20, /* Fedora's largest are of some 10 MB */
	UNPACKED_FIRST_BYTES = 1 << 20,
	UNPACKER_MAX_BYTES = 128 << 20, /* of memory; xz -9 takes 65 MB */
};

/* Twice the room; false: it is too much. What follows the end is zero: strings end. */
static bool grow(uint8_t **bytes, size_t *room)
{
	size_t wanted = *room ? *room * 2 : UNPACKED_FIRST_BYTES;
	uint8_t *grown = wanted <= UNPACKED_MAX_BYTES ? realloc(*bytes, wanted + 1) : NULL;

	if (!grown)
		return false;
	*bytes = grown;
	*room = wanted;
	return true;
}

uint8_t *debug_data_unpack(struct span file, struct span *bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result = LZMA_OK;
	uint8_t *unpacked = NULL;
	size_t room = 0;
	struct span section;
	struct elf elf;
	uint64_t address;

	if (!elf_init(&elf, file) || !elf_section(&elf, ".gnu_debugdata", &section, &address) ||
	    lzma_stream_decoder(&stream, UNPACKER_MAX_BYTES, 0) != LZMA_OK)
		return NULL;
	stream.next_in = section.start;
	stream.avail_in = section.size;
	while (result == LZMA_OK && grow(&unpacked, &room)) {
		stream.next_out = unpacked + stream.total_out;
		stream.avail_out = room - stream.total_out;
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*bytes = (struct span){ unpacked, stream.total_out };
	lzma_end(&stream);
	if (result != LZMA_STREAM_END) {
		free(unpacked);
		return NULL;
	}
	unpacked[bytes->size] = 0;
	return unpacked;
}
