// SPDX-License-Identifier: GPL-2.0-or-later
/* The files in a single-file executable, for .NET's images. */
#include "image/bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/elf.h"

enum {
	MANIFEST_OLDEST = 1,
	MANIFEST_WITH_CONFIG = 2, /* places of the two JSON files, and flags */
	MANIFEST_WITH_COMPRESSION = 6,
	MANIFEST_NEWEST = 6,
	MANIFEST_CONFIG_BYTES = 40,
	MANIFEST_MAX_FILES = 1 << 16,
	PATH_MAX_BYTES = 4096,
	LENGTH_MAX_BYTES = 5, /* of a 7-bits-a-byte number */
};

/* SHA-256 of ".net core bundle\n": the host looks for it, and so do we. */
static const uint8_t signature[] = {
	0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93,
	0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae,
	0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
};

/*
 * The host keeps the signature in its writable data; to look in the rest of the file as well
 * would read tens of megabytes from disk. The manifest's offset stands right before it.
 */
static bool find_manifest(struct span exe, uint64_t *manifest)
{
	struct span segment;
	const uint8_t *found;
	struct elf elf;
	struct cursor c;

	if (!elf_init(&elf, exe))
		return false;
	found = elf_find_in_data(&elf, signature, sizeof(signature), &segment);
	if (!found || (size_t)(found - segment.start) < sizeof(*manifest))
		return false;
	c = cursor_over((struct span){ found - sizeof(*manifest), sizeof(*manifest) });
	*manifest = cursor_u64(&c);
	return true;
}

/* A string with its length before it, 7 bits a byte, as .NET's BinaryWriter has it. */
static struct span read_string(struct cursor *c)
{
	uint32_t length = 0;

	for (unsigned int i = 0; i < LENGTH_MAX_BYTES; i++) {
		uint8_t byte = cursor_u8(c);

		length |= (uint32_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			break;
	}
	if (length > PATH_MAX_BYTES)
		c->bad = true;
	return cursor_take(c, length);
}

static struct span read_entry(struct cursor *c, const struct bundle *bundle,
			      struct bundle_entry *entry)
{
	entry->offset = cursor_u64(c);
	entry->size = cursor_u64(c);
	entry->compressed_size = bundle->major >= MANIFEST_WITH_COMPRESSION ? cursor_u64(c) : 0;
	entry->type = cursor_u8(c);
	return read_string(c);
}

/* Both numbers of a range come from the file: their sum may not fit. */
static bool lies_inside(const struct bundle_entry *entry, struct span exe)
{
	uint64_t stored = entry->compressed_size ? entry->compressed_size : entry->size;

	return entry->offset <= exe.size && stored <= exe.size - entry->offset &&
	       entry->size <= INT64_MAX;
}

/* Measure before anything is allocated: how long are the paths together? */
static int check_entries(const struct bundle *bundle, struct cursor c, struct span exe,
			 size_t *path_bytes, struct error *err)
{
	*path_bytes = 0;
	for (size_t i = 0; i < bundle->count; i++) {
		struct bundle_entry entry;
		struct span path = read_entry(&c, bundle, &entry);

		if (!cursor_ok(&c) || path.size == 0 || memchr(path.start, 0, path.size))
			return error_set(err, -EBADMSG, "entry %zu of the bundle is damaged", i);
		if (!lies_inside(&entry, exe))
			return error_set(err, -EBADMSG, "bundle entry %.*s lies outside the file",
					 (int)path.size, (const char *)path.start);
		*path_bytes += path.size + 1;
	}
	return 0;
}

static int read_entries(struct bundle *bundle, struct cursor c, struct span exe, struct error *err)
{
	size_t path_bytes;
	char *path_end;
	int status = check_entries(bundle, c, exe, &path_bytes, err);

	if (status < 0)
		return status;
	bundle->entries = calloc(bundle->count ? bundle->count : 1, sizeof(*bundle->entries));
	bundle->paths = malloc(path_bytes ? path_bytes : 1);
	if (!bundle->entries || !bundle->paths)
		return error_set(err, -ENOMEM, "no memory for the bundle's %zu entries",
				 bundle->count);

	path_end = bundle->paths;
	for (size_t i = 0; i < bundle->count; i++) {
		struct span path = read_entry(&c, bundle, &bundle->entries[i]);

		bundle->entries[i].path = path_end;
		memcpy(path_end, path.start, path.size);
		path_end[path.size] = '\0';
		path_end += path.size + 1;
	}
	return 0;
}

int bundle_read(struct bundle *bundle, struct span exe, struct error *err)
{
	struct cursor c = cursor_over(exe);
	uint64_t manifest = 0;
	uint32_t count;
	int status;

	*bundle = (struct bundle){ 0 };
	if (!find_manifest(exe, &manifest) || manifest == 0)
		return 0;

	c = cursor_at(&c, manifest);
	bundle->major = cursor_u32(&c);
	bundle->minor = cursor_u32(&c);
	count = cursor_u32(&c);
	(void)read_string(&c); /* the bundle's id */
	if (bundle->major >= MANIFEST_WITH_CONFIG)
		cursor_skip(&c, MANIFEST_CONFIG_BYTES);
	if (!cursor_ok(&c) || count > MANIFEST_MAX_FILES)
		return error_set(err, -EBADMSG, "the bundle's manifest is damaged");
	if (bundle->major < MANIFEST_OLDEST || bundle->major > MANIFEST_NEWEST)
		return error_set(
			err, -EBADMSG,
			"bundle manifest version %u.%u is not known: publish the program without PublishSingleFile to have its methods",
			bundle->major, bundle->minor);

	bundle->count = count;
	status = read_entries(bundle, c, exe, err);
	if (status < 0) {
		bundle_deinit(bundle);
		return status;
	}
	return 1;
}

void bundle_deinit(struct bundle *bundle)
{
	free(bundle->entries);
	free(bundle->paths);
	*bundle = (struct bundle){ 0 };
}
