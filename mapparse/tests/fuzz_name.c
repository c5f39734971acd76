// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in every spelling; the first byte says which. */
#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct mapparse_name name = { .chars = NULL };
	const char *chars = (const char *)bytes + 1;
	char *key;

	if (length == 0)
		return 0;
	if (mapparse_name_parse(&name, (enum mapparse_spelling)(bytes[0] % 5), chars, length - 1) ==
	    0)
		fuzz_check_name(&name);
	if (mapparse_name_demangle(&name, "app", chars, length - 1) == 0)
		fuzz_check_name(&name);
	mapparse_name_deinit(&name);
	key = malloc(length);
	FUZZ_ASSERT(key && mapparse_mangled_key(chars, length - 1, key) < length);
	free(key);
	return 0;
}
