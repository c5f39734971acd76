// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The numbers and names of x86-64, for all rooms. Those of registers: System V ABI, AMD64
 * supplement, 3.6.2.
 */
#include "arch/arch.h"

#include <cpuid.h>
#include <elf.h>

#include "image/pe.h"

static const uint8_t empty_function[] = {
	0x55, /* push %rbp */
	0x5d, /* pop %rbp */
	0xc3, /* ret */
};

const struct arch arch = {
	.name = "x86-64",
	.elf_machine = EM_X86_64,
	.pe_machine = PE_MACHINE_AMD64,
	.relocation_relative = R_X86_64_RELATIVE,
	.relocation_absolute = R_X86_64_64,
	.relocation_global = R_X86_64_GLOB_DAT,
	.dwarf_stack_pointer = 7,
	.dwarf_frame_pointer = 6,
	.dwarf_saved = 3, /* rbx, which the loader finds its frame by */
	.dwarf_return_address = 16,
	.dwarf_registers = 16,
	.return_address = -1,
	.uprobe = { 0xcc }, /* int3 */
	.uprobe_bytes = 1,
	.breakpoint_bytes = sizeof(long),
	.thread_pointer = { "task_struct", "thread", "fsbase" },
	.empty_function = empty_function,
	.empty_function_bytes = sizeof(empty_function),
};

/* DR0 to DR3. */
_Static_assert(DEBUG_REGISTERS == 4, "x86-64 has so many");

/*
 * KVM before Linux 6.14 can give the guest a stale DR6 ("KVM: x86: Load DR6 with guest value only
 * before entering .vcpu_run() loop").
 */
bool debug_registers_are_virtual(void)
{
	unsigned int eax, ebx, ecx, edx;
	const unsigned int hypervisor_bit = 1u << 31;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & hypervisor_bit);
}
