/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manifest of a .NET single-file executable: which assemblies lie where in it.
 *
 * Source of the format: dotnet/runtime src/native/corehost/bundle/ (manifest
 * versions 2 to 6) and Microsoft.NET.HostModel/Bundle.
 */
#ifndef IMAGE_BUNDLE_H
#define IMAGE_BUNDLE_H

#include "image/cursor.h"

struct error;

struct bundle_entry {
	const char *path;	  /* relative, as in the manifest; owned by the bundle */
	uint64_t offset;	  /* in the executable; only 64-byte aligned */
	uint64_t size;		  /* uncompressed */
	uint64_t compressed_size; /* 0 if stored as it is */
	uint8_t type;
};

struct bundle {
	uint32_t major;
	uint32_t minor;
	size_t count;
	struct bundle_entry *entries;
	char *paths; /* the entries' paths, one after the other */
};

/*
 * Look for a manifest in the ELF executable @exe. Returns 1 with @bundle filled,
 * 0 if it is no bundle, -EBADMSG (damaged) or -ENOMEM with @err set. Every entry
 * that is returned lies inside @exe. Ends with bundle_deinit() if 1 was returned.
 */
int bundle_read(struct bundle *bundle, struct span exe, struct error *err);
void bundle_deinit(struct bundle *bundle);

#endif
