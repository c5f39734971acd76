// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers on their way into the page of --flame: seven bits a byte, the lowest first, then by zlib,
 * then as Base64. A browser takes longer to read all the letters of a page than to unpack them.
 */
#include <stdlib.h>
#include <zlib.h>

#include "output/flame.h"

enum {
	PLAIN_BYTES = 1 << 14,
	PACKED_BYTES = 3 << 12, /* whole groups of three, of which Base64 makes four letters each */
	NUMBER_BYTES = 10,
};

struct flame_packing {
	FILE *to;
	z_stream zlib;
	size_t length; /* of @plain */
	unsigned char plain[PLAIN_BYTES + NUMBER_BYTES];
	unsigned char packed[PACKED_BYTES];
};

static void write_base64(const unsigned char *at, size_t left, FILE *to)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; left; at += 3) {
		unsigned int second = left > 1 ? at[1] : 0, third = left > 2 ? at[2] : 0;
		const char group[] = { letters[at[0] >> 2],
				       letters[(at[0] & 3U) << 4 | second >> 4],
				       left > 1 ? letters[(second & 15) << 2 | third >> 6] : '=',
				       left > 2 ? letters[third & 63] : '=' };

		fwrite(group, 1, sizeof(group), to);
		left -= left < 3 ? left : 3;
	}
}

/* Hand what is there to zlib, and what is full of that on; at the end all of it. */
static void squeeze(struct flame_packing *packing, bool end)
{
	z_stream *zlib = &packing->zlib;
	int result;

	zlib->next_in = packing->plain;
	zlib->avail_in = (unsigned int)packing->length;
	packing->length = 0;
	do {
		result = deflate(zlib, end ? Z_FINISH : Z_NO_FLUSH);
		if (zlib->avail_out && result != Z_STREAM_END)
			continue;
		write_base64(packing->packed, PACKED_BYTES - zlib->avail_out, packing->to);
		zlib->next_out = packing->packed;
		zlib->avail_out = PACKED_BYTES;
	} while (result == Z_OK && (end || zlib->avail_in));
}

struct flame_packing *flame_pack_begin(FILE *to)
{
	struct flame_packing *packing = calloc(1, sizeof(*packing));

	if (!packing || deflateInit(&packing->zlib, Z_DEFAULT_COMPRESSION) != Z_OK) {
		free(packing);
		return NULL;
	}
	packing->to = to;
	packing->zlib.next_out = packing->packed;
	packing->zlib.avail_out = PACKED_BYTES;
	return packing;
}

void flame_pack(struct flame_packing *packing, uint64_t number)
{
	for (; number > 127; number >>= 7)
		packing->plain[packing->length++] = (unsigned char)(number | 128);
	packing->plain[packing->length++] = (unsigned char)number;
	if (packing->length >= PLAIN_BYTES)
		squeeze(packing, false);
}

void flame_pack_end(struct flame_packing *packing)
{
	if (!packing)
		return;
	squeeze(packing, true);
	deflateEnd(&packing->zlib);
	free(packing);
}
