// SPDX-License-Identifier: GPL-2.0-or-later
/* See blocks.h; docs/record.md has each byte. */
#include "record/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"
#include "base/vector.h"
#include "record/format.h"

enum {
	LEVEL = 3, /* of zstd: its own default */
	RIGHTS = 0600,
	CRC_OFFSET = 12, /* in the header */
	BLOCK_CRC_OFFSET = 20,
};

static void put_u16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)value;
	to[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *to, uint32_t value)
{
	put_u16(to, (uint16_t)value);
	put_u16(to + 2, (uint16_t)(value >> 16));
}

static uint32_t checksum(const uint8_t *first, size_t first_size, const uint8_t *second,
			 size_t size)
{
	uLong crc = crc32(crc32(0, NULL, 0), first, (uInt)first_size);

	return (uint32_t)(size ? crc32(crc, second, (uInt)size) : crc);
}

/* Writing ------------------------------------------------------------------------------------- */

static int append(struct block_writer *blocks, const uint8_t *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t written = write(blocks->fd, bytes + done, size - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int result = written ? -errno : -EIO;

			/* Half a block is none. */
			if (done && ftruncate(blocks->fd, blocks->good) == 0)
				(void)lseek(blocks->fd, blocks->good, SEEK_SET);
			return result;
		}
		done += (size_t)written;
	}
	blocks->good += (off_t)size;
	return 0;
}

static int write_header(struct block_writer *blocks)
{
	uint8_t header[RECORD_HEADER_BYTES];

	memcpy(header, RECORD_MAGIC, RECORD_MAGIC_BYTES);
	put_u16(header + RECORD_MAGIC_BYTES, RECORD_MAJOR);
	put_u16(header + RECORD_MAGIC_BYTES + 2, RECORD_MINOR);
	put_u32(header + CRC_OFFSET, checksum(header, CRC_OFFSET, NULL, 0));
	return append(blocks, header, sizeof(header));
}

/* It has names of methods and of files, and a command line: its owner's business. */
static int make_file(struct block_writer *blocks, const char *path)
{
	struct stat st;

	blocks->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, RIGHTS);
	if (blocks->fd < 0)
		return -errno;
	if (fstat(blocks->fd, &st) == 0 && S_ISREG(st.st_mode) && fchmod(blocks->fd, RIGHTS) != 0)
		return -errno;
	return write_header(blocks);
}

int blocks_create(struct block_writer *blocks, const char *path, struct error *err)
{
	int result;

	*blocks = (struct block_writer){ .fd = -1, .zstd = ZSTD_createCCtx() };
	result = blocks->zstd ? make_file(blocks, path) : -ENOMEM;
	if (result == 0)
		return 0;
	(void)blocks_close(blocks);
	return error_set(err, result,
			 "cannot write the record %s: %s; --record names another place", path,
			 strerror(-result));
}

int blocks_write(struct block_writer *blocks, const char *bytes, size_t size)
{
	size_t bound = RECORD_BLOCK_HEADER_BYTES + ZSTD_compressBound(size), packed;
	uint8_t *header;

	if (size > RECORD_BLOCK_MAX_BYTES)
		return -EFBIG;
	if (!vector_reserve(&blocks->packed, &blocks->capacity, bound))
		return -ENOMEM;
	header = blocks->packed;
	packed =
		ZSTD_compressCCtx(blocks->zstd, header + RECORD_BLOCK_HEADER_BYTES,
				  blocks->capacity - RECORD_BLOCK_HEADER_BYTES, bytes, size, LEVEL);
	if (ZSTD_isError(packed))
		return -ENOMEM;
	put_u32(header, RECORD_BLOCK_MAGIC);
	put_u32(header + 4, blocks->count);
	put_u32(header + 8, (uint32_t)packed);
	put_u32(header + 12, (uint32_t)size);
	put_u32(header + 16, 0);
	put_u32(header + BLOCK_CRC_OFFSET,
		checksum(header, BLOCK_CRC_OFFSET, header + RECORD_BLOCK_HEADER_BYTES, packed));
	blocks->count++;
	return append(blocks, header, RECORD_BLOCK_HEADER_BYTES + packed);
}

int blocks_close(struct block_writer *blocks)
{
	int result = blocks->fd >= 0 && close(blocks->fd) != 0 ? -errno : 0;

	blocks->fd = -1;
	ZSTD_freeCCtx(blocks->zstd);
	free(blocks->packed);
	blocks->zstd = NULL;
	blocks->packed = NULL;
	return result;
}

/* Reading ------------------------------------------------------------------------------------- */

/* @size bytes; fewer at the end. -errno. */
static ssize_t take(struct block_reader *blocks, uint8_t *to, size_t size)
{
	size_t got;

	errno = 0;
	got = fread(to, 1, size, blocks->from);
	if (got < size && ferror(blocks->from))
		return errno ? -errno : -EIO;
	return (ssize_t)got;
}

static int unreadable(ssize_t result, struct error *err)
{
	return error_set(err, (int)result, "it cannot be read: %s", strerror((int)-result));
}

static int no_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "no memory to read it");
}

static int check_header(struct block_reader *blocks, struct error *err)
{
	uint8_t header[RECORD_HEADER_BYTES];
	ssize_t got = take(blocks, header, sizeof(header));
	struct cursor c = cursor_over((struct span){ header, sizeof(header) });
	uint16_t major;

	if (got < 0)
		return unreadable(got, err);
	if (got < RECORD_MAGIC_BYTES || memcmp(header, RECORD_MAGIC, RECORD_MAGIC_BYTES) != 0)
		return error_set(err, -EINVAL,
				 "it is no record: name a file that --record has written");
	if (got < (ssize_t)sizeof(header))
		return error_set(err, -ENODATA, "it ends within its header");
	cursor_skip(&c, RECORD_MAGIC_BYTES);
	major = cursor_u16(&c);
	blocks->minor = cursor_u16(&c);
	if (cursor_u32(&c) != checksum(header, CRC_OFFSET, NULL, 0))
		return error_set(err, -EBADMSG, "it is damaged: its header has another checksum");
	if (major != RECORD_MAJOR)
		return error_set(err, -EPROTONOSUPPORT,
				 "it is of format %u.%u, and this place-probe (" PLACE_PROBE_VERSION
				 ") reads %u: use the version that wrote it, or a newer one",
				 major, blocks->minor, RECORD_MAJOR);
	return 0;
}

int blocks_begin(struct block_reader *blocks, FILE *from, struct error *err)
{
	int result;

	*blocks = (struct block_reader){ .from = from, .zstd = ZSTD_createDCtx() };
	result = blocks->zstd ? check_header(blocks, err) : no_memory(err);
	if (result)
		blocks_end(blocks);
	return result;
}

void blocks_end(struct block_reader *blocks)
{
	if (blocks->from)
		fclose(blocks->from);
	ZSTD_freeDCtx(blocks->zstd);
	free(blocks->packed);
	free(blocks->bytes);
	*blocks = (struct block_reader){ .from = NULL };
}

static int cut(const struct block_reader *blocks, struct error *err)
{
	return error_set(err, -ENODATA,
			 "it ends within its block %" PRIu32 ", at byte %" PRIu64
			 ": it was cut, or its writer was killed",
			 blocks->count, blocks->offset);
}

static int damaged(const struct block_reader *blocks, const char *how, struct error *err)
{
	return error_set(err, -EBADMSG, "it is damaged: block %" PRIu32 ", at byte %" PRIu64 ", %s",
			 blocks->count, blocks->offset, how);
}

static int read_block(struct block_reader *blocks, const uint8_t *header, struct span *bytes,
		      struct error *err)
{
	struct cursor c = cursor_over((struct span){ header, RECORD_BLOCK_HEADER_BYTES });
	uint32_t magic = cursor_u32(&c), number = cursor_u32(&c);
	uint32_t packed = cursor_u32(&c), whole = cursor_u32(&c);
	uint32_t reserved = cursor_u32(&c), crc = cursor_u32(&c);
	ssize_t got;

	(void)reserved;
	if (magic != RECORD_BLOCK_MAGIC || whole > RECORD_BLOCK_MAX_BYTES ||
	    packed > ZSTD_COMPRESSBOUND(RECORD_BLOCK_MAX_BYTES))
		return damaged(blocks, "has no header of a block", err);
	if (!vector_reserve(&blocks->packed, &blocks->packed_capacity, packed) ||
	    !vector_reserve(&blocks->bytes, &blocks->capacity, whole))
		return no_memory(err);
	got = take(blocks, blocks->packed, packed);
	if (got < 0)
		return unreadable(got, err);
	if (got < (ssize_t)packed)
		return cut(blocks, err);
	if (crc != checksum(header, BLOCK_CRC_OFFSET, blocks->packed, packed))
		return damaged(blocks, "has another checksum", err);
	if (number != blocks->count)
		return damaged(blocks, "is not the one that follows", err);
	/* Its errors are sizes too, larger than any. */
	if (ZSTD_decompressDCtx(blocks->zstd, blocks->bytes, whole, blocks->packed, packed) !=
	    whole)
		return damaged(blocks, "cannot be unpacked", err);
	*bytes = (struct span){ blocks->bytes, whole };
	blocks->offset += RECORD_BLOCK_HEADER_BYTES + packed;
	return 0;
}

int blocks_read(struct block_reader *blocks, struct span *bytes, struct error *err)
{
	uint8_t header[RECORD_BLOCK_HEADER_BYTES];
	ssize_t got;
	int result;

	if (blocks->count == 0)
		blocks->offset = RECORD_HEADER_BYTES;
	got = take(blocks, header, sizeof(header));
	if (got < 0)
		return unreadable(got, err);
	if (got == 0)
		return 0;
	if (got < (ssize_t)sizeof(header))
		return cut(blocks, err);
	result = read_block(blocks, header, bytes, err);
	blocks->count += result == 0;
	return result ? result : 1;
}
