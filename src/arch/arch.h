/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the machine decides, as numbers and names that all rooms may use. Each architecture is a
 * folder here, which is compiled for it alone: it defines `arch` and what is declared here, in
 * arch/calibrate_functions.h and in those headers of code/ and value/ that say so.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/arch/arch.h"

struct arch {
	const char *name; /* for messages */
	uint16_t elf_machine;
	uint16_t pe_machine;

	/* Relocations that put the address of something into a word. */
	uint32_t relocation_relative; /* where the file is loaded, and the addend */
	uint32_t relocation_absolute; /* a symbol's, and the addend */
	uint32_t relocation_global;   /* a symbol's, in the global offset table */

	/* What the kernel puts where a uprobe is. */
	uint8_t uprobe[4];
	uint8_t uprobe_bytes;

	uint64_t breakpoint_bytes; /* the only length that the kernel takes for code */

	/* How call frame information (DWARF) numbers registers. */
	uint8_t dwarf_stack_pointer;
	uint8_t dwarf_frame_pointer;
	uint8_t dwarf_saved; /* the third that unwind rows follow: UNWIND_SAVED */
	uint8_t dwarf_return_address;
	uint8_t dwarf_registers; /* those of a signal frame are below that */

	/* Where the return address is at a function's entry, as in a struct unwind_frame. */
	int8_t return_address;

	/* The kernel's structure of a task, and where the thread pointer is; ends with NULL. */
	const char *thread_pointer[4];

	/* A function that does nothing; it begins as functions do that uprobes are cheap on. */
	const uint8_t *empty_function;
	size_t empty_function_bytes;
};

extern const struct arch arch;

/*
 * In a virtual machine the hypervisor has a part in each debug exception, and one that gets it
 * wrong makes the guest take a breakpoint's hit for a trap of the program's own.
 */
bool debug_registers_are_virtual(void);

#endif
