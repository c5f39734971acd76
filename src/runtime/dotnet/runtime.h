/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The .NET runtime in a process: libcoreclr.so, or linked into a single-file executable.
 *
 * The version is read from the runtime's own mark "@(#)Version MAJOR.MINOR.BUILD.REVISION",
 * whose BUILD is 100 * patch + year of the build; so it does not depend on where the file
 * lies. Source: dotnet/runtime eng/native/version and dotnet/arcade's version computation;
 * seen alike in 8.0.0 to 10.0.12.
 */
#ifndef RUNTIME_DOTNET_RUNTIME_H
#define RUNTIME_DOTNET_RUNTIME_H

#include "image/cursor.h"

struct dotnet_runtime {
	bool single_file;
	size_t file;	    /* the number of the file that it is in; set by the caller */
	unsigned int major; /* 0.0.0: the mark was not found */
	unsigned int minor;
	unsigned int patch;
	uint64_t contract_at;  /* DotNetRuntimeContractDescriptor, as linked; 0: not exported */
	uint64_t dac_table_at; /* g_dacTable, likewise */
	uint64_t bias;	       /* from there to where it is in memory; set by the caller */
};

/* Is the ELF file @bytes, called @file_name, the runtime? Fills @runtime if so. */
bool dotnet_runtime_read(struct dotnet_runtime *runtime, const char *file_name, struct span bytes);

#endif
