/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What x86-64 has to offer for hardware breakpoints. */
#ifndef ARCH_X86_64_DEBUG_REGISTERS_X86_H
#define ARCH_X86_64_DEBUG_REGISTERS_X86_H

#include <cpuid.h>
#include <stdbool.h>

enum {
	DEBUG_REGISTERS = 4,			     /* DR0 to DR3 */
	DEBUG_REGISTER_EXECUTE_BYTES = sizeof(long), /* the only length the kernel takes for code */
};

/*
 * In a virtual machine the hypervisor has a part in each debug exception. KVM before Linux 6.14 can
 * give the guest a stale DR6 ("KVM: x86: Load DR6 with guest value only before entering .vcpu_run()
 * loop"), and then the guest takes the hit for a trap of the program's own.
 */
static inline bool debug_registers_are_virtual(void)
{
	unsigned int eax, ebx, ecx, edx;
	const unsigned int hypervisor_bit = 1u << 31;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & hypervisor_bit);
}

#endif
