/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of the machine code of .NET's runtime: to find compileMethod, where its collector
 * is done, and the method of code that it has made. Each architecture answers in a file that
 * carries this name (arch/x86_64/compiler_x86.c).
 */
#ifndef CODE_COMPILER_CODE_H
#define CODE_COMPILER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/cursor.h"

enum {
	COMPILER_CODE_MAX = 1024, /* bytes of a function that is looked at */
	COMPILER_REFERENCES_MAX = 16,
	COMPILER_PROLOGUES = 2,
	COLLECTOR_CODE_MAX = 24, /* bytes of a function that is looked at */
	PRECODE_BYTES = 19,
};

/* Data that code refers to. */
struct code_reference {
	uint64_t address; /* as linked */
	bool is_loaded;	  /* the word there is loaded, and not its address taken */
};

/* How compileMethod begins in .NET 8 to 11. */
extern const struct span compiler_prologues[COMPILER_PROLOGUES];

/*
 * Data that the function @code, linked at @address, takes the address of or loads pointers from:
 * the first COMPILER_REFERENCES_MAX. Returns how many.
 */
size_t compiler_references(struct span code, uint64_t address,
			   struct code_reference references[COMPILER_REFERENCES_MAX]);

/* Where in a function probes are to be put. */
struct code_ends {
	uint32_t entry;
	uint32_t exit;
};

/*
 * Is @code a function that can be probed there? If so NULL is returned, else what is wrong with it.
 */
const char *compiler_check(struct span code, struct code_ends *ends);

/* Does the function @code store its second argument in one word of data, and nothing else? */
bool collector_code_stores(const uint8_t *code, size_t size);

/*
 * The code that .NET puts before a method, where all go that do not know its body: where @code,
 * which is at @address, keeps its method. False if it is no FixupPrecode.
 *
 * Source: dotnet/runtime src/coreclr/vm/<architecture>/thunktemplates.S, FixupPrecodeCode.
 */
bool precode_method_slot(struct span code, uint64_t address, uint64_t *slot);

#endif
