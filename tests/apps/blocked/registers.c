// SPDX-License-Identifier: GPL-2.0-or-later
/* All registers, the extended ones too, before and after a system call. */
#include "blocked.h"

#include <cpuid.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEGACY_ST = 32, /* offsets in the area of XSAVE: Intel SDM, volume 1, chapter 13 */
	LEGACY_XMM = 160,
	LEGACY_END = 416,
	LEGACY_MXCSR = 24,
	PRESENT = 512,
	X87 = 0,
	SSE = 1,
	AVX = 2,
	OPMASK = 5,
	ZMM_HIGH = 6,
	ZMM_OTHER = 7,
};

extern const char crossing_after_call[];
void crossing_cross(struct crossing *crossing, const volatile int *until);

/* rdi: the crossing; rsi: what to wait for, or 0. Offsets as in struct crossing. */
__asm__(".text\n"
	".globl crossing_cross\n"
	"crossing_cross:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	mov 248(%rdi), %eax\n"
	"	xor %edx, %edx\n"
	"	mov 256(%rdi), %rcx\n"
	"	xrstor64 (%rcx)\n"
	"	mov 0(%rdi), %rax\n	mov 8(%rdi), %rbx\n	mov 16(%rdi), %rcx\n	mov 24(%rdi), %rdx\n"
	"	mov 32(%rdi), %rsi\n	mov 48(%rdi), %rbp\n	mov 56(%rdi), %r8\n	mov 64(%rdi), %r9\n"
	"	mov 72(%rdi), %r10\n	mov 80(%rdi), %r11\n	mov 88(%rdi), %r12\n	mov 96(%rdi), %r13\n"
	"	mov 104(%rdi), %r14\n	mov 112(%rdi), %r15\n	mov 40(%rdi), %rdi\n"
	"	cmpq $0, (%rsp)\n"
	"	jne 1f\n"
	"	stc\n"
	"	pushfq\n"
	"	syscall\n"
	".globl crossing_after_call\n"
	"crossing_after_call:\n"
	"	jmp 2f\n"
	/* The pointer is on the stack, so that all registers stay as they are. */
	"1:	pushfq\n"
	"	push %rax\n"
	"	mov 16(%rsp), %rax\n"
	"3:	pause\n"
	"	cmpl $0, (%rax)\n"
	"	je 3b\n"
	"	pop %rax\n"
	"2:	push %rdi\n"
	"	mov 24(%rsp), %rdi\n"
	"	mov %rax, 120(%rdi)\n	mov %rbx, 128(%rdi)\n	mov %rcx, 136(%rdi)\n	mov %rdx, 144(%rdi)\n"
	"	mov %rsi, 152(%rdi)\n	mov %rbp, 168(%rdi)\n	mov %r8, 176(%rdi)\n	mov %r9, 184(%rdi)\n"
	"	mov %r10, 192(%rdi)\n	mov %r11, 200(%rdi)\n	mov %r12, 208(%rdi)\n	mov %r13, 216(%rdi)\n"
	"	mov %r14, 224(%rdi)\n	mov %r15, 232(%rdi)\n	pop %rax\n	mov %rax, 160(%rdi)\n"
	"	pop 240(%rdi)\n"
	"	mov 248(%rdi), %eax\n"
	"	xor %edx, %edx\n"
	"	mov 264(%rdi), %rcx\n"
	"	xsave64 (%rcx)\n"
	"	pop %rsi\n	pop %rdi\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
	"	cld\n"
	"	ret\n");

static void fill(uint8_t *at, size_t size, uint8_t seed)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(seed + i * 7);
}

/* The parts that this machine has and that patterns can be put into. */
static uint64_t extended_mask(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low & (1U << X87 | 1U << SSE | 1U << AVX | 1U << OPMASK | 1U << ZMM_HIGH |
		      1U << ZMM_OTHER);
}

static void part_place(unsigned int part, uint32_t *offset, uint32_t *size)
{
	uint32_t c, d;

	if (!__get_cpuid_count(13, part, size, offset, &c, &d))
		abort();
}

void crossing_prepare(struct crossing *crossing)
{
	uint8_t *state;
	uint32_t offset, size, rounding = 0x1f80 | 0x2000;
	uint16_t control = 0x027f;

	crossing->mask = extended_mask();
	crossing->state_before = state = aligned_alloc(64, XSAVE_BYTES);
	crossing->state_after = aligned_alloc(64, XSAVE_BYTES);
	if (!state || !crossing->state_after)
		abort();
	memset(state, 0, XSAVE_BYTES);
	memset(crossing->state_after, 0, XSAVE_BYTES);
	memcpy(state, &control, sizeof(control));
	state[4] = 0xff; /* all registers of the x87 are in use */
	memcpy(state + LEGACY_MXCSR, &rounding, sizeof(rounding));
	for (int i = 0; i < 8; i++)
		fill(state + LEGACY_ST + 16 * i, 10, (uint8_t)(0x11 * i));
	fill(state + LEGACY_XMM, LEGACY_END - LEGACY_XMM, 0x21);
	for (unsigned int part = AVX; part <= ZMM_OTHER; part++) {
		if (!(crossing->mask >> part & 1))
			continue;
		part_place(part, &offset, &size);
		fill(state + offset, size, (uint8_t)(0x31 + part));
	}
	memcpy(state + PRESENT, &crossing->mask, sizeof(crossing->mask));
	for (int i = 0; i < REGISTERS; i++)
		crossing->before[i] = UINT64_C(0x0101010101010101) * (uint64_t)(i + 1) ^
				      UINT64_C(0xa5a5a5a55a5a5a5a);
}

void crossing_make(struct crossing *crossing, const volatile int *until)
{
	crossing_cross(crossing, until);
}

static int compare_bytes(const struct crossing *crossing, const char *name, size_t offset,
			 size_t size)
{
	const uint8_t *before = crossing->state_before, *after = crossing->state_after;

	if (memcmp(before + offset, after + offset, size) == 0)
		return 0;
	fprintf(stderr, "%s has changed\n", name);
	return 1;
}

int crossing_compare(const struct crossing *crossing, bool was_call)
{
	static const char *const names[REGISTERS] = { "rax", "rbx", "rcx", "rdx", "rsi",
						      "rdi", "rbp", "r8",  "r9",  "r10",
						      "r11", "r12", "r13", "r14", "r15" };
	uint32_t offset, size;
	int wrong = 0;

	for (int i = 0; i < REGISTERS; i++) {
		uint64_t expected = crossing->before[i];

		if (was_call && i == RAX)
			continue;
		/* The instruction puts these two there. */
		if (was_call && i == RCX)
			expected = (uint64_t)(uintptr_t)crossing_after_call;
		if (was_call && i == R11)
			expected = crossing->flags;
		if (crossing->after[i] != expected) {
			fprintf(stderr, "%s was %lx and is %lx\n", names[i], expected,
				crossing->after[i]);
			wrong++;
		}
	}
	wrong += compare_bytes(crossing, "the x87 control word", 0, 2);
	wrong += compare_bytes(crossing, "mxcsr", LEGACY_MXCSR, 4);
	for (int i = 0; i < 8; i++)
		wrong += compare_bytes(crossing, "an x87 register", (size_t)(LEGACY_ST + 16 * i),
				       10);
	wrong += compare_bytes(crossing, "an xmm register", LEGACY_XMM, LEGACY_END - LEGACY_XMM);
	for (unsigned int part = AVX; part <= ZMM_OTHER; part++) {
		if (crossing->mask >> part & 1) {
			part_place(part, &offset, &size);
			wrong += compare_bytes(crossing, "the extended state", offset, size);
		}
	}
	return wrong;
}
