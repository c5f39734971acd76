/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and place-probe must agree on though the machine decides it. The programs'
 * part of each architecture is in a folder here, chosen by arch.bpf.h; place-probe's is in
 * src/arch/.
 */
#ifndef BPF_ARCH_ARCH_H
#define BPF_ARCH_ARCH_H

enum {
	/*
	 * For execution breakpoints: as many as are used at a time, a power of two. x86-64 has
	 * these four; most arm64 processors have six.
	 */
	DEBUG_REGISTERS = 4,
};

#endif
