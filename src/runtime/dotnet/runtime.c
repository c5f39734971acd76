// SPDX-License-Identifier: GPL-2.0-or-later
/* Is a file the .NET runtime, and of which version? Asked by dotnet.c for what is mapped. */
#include "runtime/dotnet/runtime.h"

#include <stdio.h>
#include <string.h>

#include "image/elf.h"

static const char VERSION_MARK[] = "@(#)Version ";

enum { BUILDS_PER_PATCH = 100 };

static void read_version(struct dotnet_runtime *runtime, const struct elf *elf)
{
	struct span segment;
	const uint8_t *mark =
		elf_find_in_data(elf, VERSION_MARK, sizeof(VERSION_MARK) - 1, &segment);
	unsigned int build;
	char text[64];
	size_t left;

	if (!mark)
		return;
	mark += sizeof(VERSION_MARK) - 1;
	left = (size_t)(segment.start + segment.size - mark);
	snprintf(text, sizeof(text), "%.*s", (int)(left < sizeof(text) ? left : sizeof(text) - 1),
		 (const char *)mark);
	if (sscanf(text, "%3u.%3u.%6u.", &runtime->major, &runtime->minor, &build) != 3) {
		runtime->major = runtime->minor = 0;
		return;
	}
	runtime->patch = build / BUILDS_PER_PATCH;
}

bool dotnet_runtime_read(struct dotnet_runtime *runtime, const char *file_name, struct span bytes)
{
	bool is_library = strcmp(file_name, "libcoreclr.so") == 0;
	struct elf elf;

	*runtime = (struct dotnet_runtime){ .single_file = !is_library };
	if (!elf_init(&elf, bytes))
		return false;
	/* .NET 8 exports only the table for debuggers, 9 and 10 the contract descriptor too. */
	runtime->dac_table_at = elf_export(&elf, "g_dacTable");
	runtime->contract_at = elf_export(&elf, "DotNetRuntimeContractDescriptor");
	if (!is_library && !runtime->dac_table_at && !runtime->contract_at)
		return false;
	read_version(runtime, &elf);
	return true;
}
