/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that latency/calibrate.c has probes on. Each takes whether to leave by the exit
 * that has a probe, or by another. Written for each architecture (calibrate_x86.c).
 */
#ifndef ARCH_CALIBRATE_FUNCTIONS_H
#define ARCH_CALIBRATE_FUNCTIONS_H

#include <stdint.h>

/* Its first instruction is one that the kernel emulates when there is a uprobe. */
void calibrate_emulated(uint32_t by_exit);

/* It is one that the kernel single-steps. */
void calibrate_stepped(uint32_t by_exit);

/* It is one that newer kernels replace. */
void calibrate_patchable(uint32_t by_exit);

/* An instruction, not a function: the return of all these, which is single-stepped. */
void calibrate_exit(void);

/* For breakpoints, so that no address has a probe of both sorts; and its return. */
void calibrate_broken(uint32_t by_exit);
void calibrate_broken_exit(void);

/* The same, and never probed. */
void calibrate_bare(uint32_t by_exit);

/*
 * Call @function(@by_exit) @count times, each time with the stack pointer further down: calls whose
 * exit is not seen are so many within each other to the programs that pair entries with exits.
 */
void calibrate_call(void (*function)(uint32_t by_exit), uint64_t count, uint32_t by_exit);

#endif
