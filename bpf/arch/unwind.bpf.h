/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What walking a stack takes of the machine; a part of bpf/unwind.bpf.h. */
#ifndef BPF_ARCH_UNWIND_BPF_H
#define BPF_ARCH_UNWIND_BPF_H

#if defined(__TARGET_ARCH_x86)
#include "bpf/arch/x86_64/unwind_x86.bpf.h"
#endif

#endif
