/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spurious debug exceptions. A hypervisor can lose what a breakpoint's hit was (see
 * debug_registers_are_virtual()); the kernel then sends the thread SIGTRAP. Nothing here can keep
 * the target from what it does then, so that at least the reason is known.
 */
#ifndef BPF_SPURIOUS_BPF_H
#define BPF_SPURIOUS_BPF_H

#include <asm/siginfo.h>
#include <asm/signal.h>

__u64 spurious_traps;

/* (signal, siginfo, task, ...); where the kernel sends a trap, in the thread that it is for. */
SEC("raw_tp/signal_generate")
int note_spurious_trap(struct bpf_raw_tracepoint_args *ctx)
{
	const struct siginfo *info = (const void *)ctx->args[1];
	const bpf_user_pt_regs_t *regs;
	__u32 tgid, tid;
	__u64 address;
	int code;

	if (ctx->args[0] != SIGTRAP || !is_target_process(&tgid, &tid) ||
	    bpf_probe_read_kernel(&code, sizeof(code), &info->si_code) || code != TRAP_BRKPT)
		return 0;
	regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (read_instruction_pointer(regs, &address) &&
	    bpf_map_lookup_elem(&breakpoint_sites, &address))
		__sync_fetch_and_add(&spurious_traps, 1);
	return 0;
}

#endif
