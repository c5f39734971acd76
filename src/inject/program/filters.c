// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs seccomp filters as the kernel does, with those instructions that it takes for them. */
#include "inject/program/filters.h"

#include <errno.h>
#include <linux/bpf_common.h>
#include <string.h>
#include <sys/ptrace.h>

enum {
	FILTERS_MAX = 64,
	FILTER_MAX = BPF_MAXINSNS,
};

struct machine {
	uint32_t a;
	uint32_t x;
	uint32_t memory[BPF_MEMWORDS];
};

/* What an arithmetic instruction makes of A. */
static bool compute(struct machine *machine, uint16_t code, uint32_t k)
{
	uint32_t by = BPF_SRC(code) == BPF_X ? machine->x : k;

	switch (BPF_OP(code)) {
	case BPF_ADD:
		machine->a += by;
		return true;
	case BPF_SUB:
		machine->a -= by;
		return true;
	case BPF_MUL:
		machine->a *= by;
		return true;
	case BPF_DIV:
		/* The kernel ends such a filter with 0, which is SECCOMP_RET_KILL_THREAD. */
		if (by == 0)
			return false;
		machine->a /= by;
		return true;
	case BPF_AND:
		machine->a &= by;
		return true;
	case BPF_OR:
		machine->a |= by;
		return true;
	case BPF_XOR:
		machine->a ^= by;
		return true;
	case BPF_LSH:
		machine->a <<= by & 31;
		return true;
	case BPF_RSH:
		machine->a >>= by & 31;
		return true;
	case BPF_NEG:
		machine->a = -machine->a;
		return true;
	default:
		return false;
	}
}

/* How many instructions are passed over. */
static bool jump(const struct machine *machine, const struct sock_filter *at, uint32_t *skipped)
{
	uint32_t by = BPF_SRC(at->code) == BPF_X ? machine->x : at->k;
	bool taken;

	switch (BPF_OP(at->code)) {
	case BPF_JA:
		*skipped = at->k;
		return true;
	case BPF_JEQ:
		taken = machine->a == by;
		break;
	case BPF_JGT:
		taken = machine->a > by;
		break;
	case BPF_JGE:
		taken = machine->a >= by;
		break;
	case BPF_JSET:
		taken = machine->a & by;
		break;
	default:
		return false;
	}
	*skipped = taken ? at->jt : at->jf;
	return true;
}

static bool load(const struct machine *machine, const struct sock_filter *at,
		 const struct seccomp_data *data, uint32_t *value)
{
	switch (BPF_MODE(at->code)) {
	case BPF_IMM:
		*value = at->k;
		return true;
	case BPF_LEN:
		*value = sizeof(*data);
		return true;
	case BPF_ABS:
		if (at->k > sizeof(*data) - sizeof(*value))
			return false;
		memcpy(value, (const char *)data + at->k, sizeof(*value));
		return true;
	case BPF_MEM:
		if (at->k >= BPF_MEMWORDS)
			return false;
		*value = machine->memory[at->k];
		return true;
	default:
		return false;
	}
}

/* All but jumps and the end. */
static bool execute(struct machine *machine, const struct sock_filter *at,
		    const struct seccomp_data *data)
{
	switch (BPF_CLASS(at->code)) {
	case BPF_LD:
		return load(machine, at, data, &machine->a);
	case BPF_LDX:
		return load(machine, at, data, &machine->x);
	case BPF_ST:
	case BPF_STX:
		if (at->k >= BPF_MEMWORDS)
			return false;
		machine->memory[at->k] = BPF_CLASS(at->code) == BPF_ST ? machine->a : machine->x;
		return true;
	case BPF_ALU:
		return compute(machine, at->code, at->k);
	case BPF_MISC:
		if (BPF_MISCOP(at->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
		return true;
	default:
		return false;
	}
}

bool filter_run(const struct sock_filter *filter, size_t count, const struct seccomp_data *data,
		uint32_t *verdict)
{
	struct machine machine = { 0 };

	/* Jumps go forward only, so this ends. */
	for (size_t i = 0; i < count; i++) {
		const struct sock_filter *at = &filter[i];
		uint32_t skipped = 0;

		if (BPF_CLASS(at->code) == BPF_RET) {
			*verdict = BPF_RVAL(at->code) == BPF_A ? machine.a : at->k;
			return true;
		}
		if (BPF_CLASS(at->code) == BPF_JMP) {
			if (!jump(&machine, at, &skipped))
				return false;
			i += skipped;
		} else if (!execute(&machine, at, data)) {
			return false;
		}
	}
	return false;
}

/*
 * A supervisor, too, may do as it likes, and the thread would stand still until it does. By actions
 * that it does not know the kernel ends the program.
 */
static bool is_harmful(uint32_t action)
{
	switch (action) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_ERRNO:
	case SECCOMP_RET_TRAP:
		return false;
	default:
		return true;
	}
}

bool filters_harm(pid_t tid, uint64_t instruction, const uint64_t arguments[INJECTION_ARGUMENTS])
{
	static struct sock_filter filter[FILTER_MAX];
	struct seccomp_data data = {
		.nr = (int)injection.mmap_number,
		.arch = injection.audit_arch,
		.instruction_pointer = instruction + injection.instruction_bytes,
	};
	uint32_t verdict;

	memcpy(data.args, arguments, sizeof(data.args));
	for (unsigned long i = 0; i < FILTERS_MAX; i++) {
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, NULL);

		/* ENOENT: there are no more. */
		if (count < 0)
			return errno != ENOENT || i == 0;
		if (count > FILTER_MAX ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, filter) != count)
			return true;
		if (!filter_run(filter, (size_t)count, &data, &verdict))
			return true;
		if (is_harmful(verdict & SECCOMP_RET_ACTION_FULL))
			return true;
	}
	return true;
}
