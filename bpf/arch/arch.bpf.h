/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs ask of the machine's registers. Each architecture has a folder here, and
 * answers in headers that carry its name; the compiler is told which it is.
 */
#ifndef BPF_ARCH_ARCH_BPF_H
#define BPF_ARCH_ARCH_BPF_H

#include <linux/ptrace.h>

#include <linux/bpf_perf_event.h>

#include "bpf/arch/arch.h"

/* Those that a stack walk begins with. */
struct registers {
	__u64 instruction_pointer;
	__u64 stack_pointer;
	__u64 frame_pointer;
	__u64 saved;  /* UNWIND_SAVED of bpf/unwind.h */
	__u64 framed; /* this function's own frame is there */
};

#if defined(__TARGET_ARCH_x86)
#include "bpf/arch/x86_64/registers_x86.bpf.h"
#else
#error "there is no folder for this architecture"
#endif

#endif
