/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outer form of a record's file: a header, then blocks of bytes, packed and checksummed. What
 * is in them is writer.c's and reader.c's.
 */
#ifndef RECORD_BLOCKS_H
#define RECORD_BLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "image/cursor.h"

struct error;

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

struct block_writer {
	int fd;
	off_t good; /* the file's length with all blocks that are whole */
	uint32_t count;
	struct ZSTD_CCtx_s *zstd;
	uint8_t *packed;
	size_t capacity;
};

/* Make the file, with its header. -errno with @err set. */
int blocks_create(struct block_writer *blocks, const char *path, struct error *err);

/*
 * Pack the @size bytes and append them by one write(). -errno, and then the file is as it was, as
 * far as that can be.
 */
int blocks_write(struct block_writer *blocks, const char *bytes, size_t size);
int blocks_close(struct block_writer *blocks);

struct block_reader {
	FILE *from;
	uint32_t count;
	uint64_t offset; /* of the block that is read, in the file */
	struct ZSTD_DCtx_s *zstd;
	uint8_t *packed;
	size_t packed_capacity;
	uint8_t *bytes;
	size_t capacity;
	uint16_t minor; /* of the format */
};

/* Take over @from and check its header. -errno with @err set: see reader.h. */
int blocks_begin(struct block_reader *blocks, FILE *from, struct error *err);

/* The next block, valid until the one after it. 1, 0 at the end, or -errno with @err set. */
int blocks_read(struct block_reader *blocks, struct span *bytes, struct error *err);
void blocks_end(struct block_reader *blocks);

#endif
