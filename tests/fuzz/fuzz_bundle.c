// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a single-file executable: what is returned must lie inside it. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "base/error.h"
#include "image/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bundle bundle;
	struct error err;

	if (bundle_read(&bundle, (struct span){ data, size }, &err) != 1)
		return 0;
	for (size_t i = 0; i < bundle.count; i++) {
		const struct bundle_entry *entry = &bundle.entries[i];
		uint64_t stored = entry->compressed_size ? entry->compressed_size : entry->size;

		check(entry->offset <= size && stored <= size - entry->offset &&
		      strlen(entry->path) > 0);
	}
	bundle_deinit(&bundle);
	return 0;
}
