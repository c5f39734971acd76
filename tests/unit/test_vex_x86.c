// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does the kernel carry out the VEX instructions that may have a uprobe? Each is run with one and
 * without, from the same registers and memory, and must leave the same. Needs root.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/x86_64/decoded_x86.h"
#include "code/insn.h"
#include "probe/uprobes.h"
#include "target/process.h"
#include "tests/helpers/hit_counter.h"
#include "tests/unit/scratch.h"

enum {
	SLOT = 32,	  /* bytes from one instruction to the next */
	SLOTS_MAX = 1024, /* more than there are */
	OTHERS = 32,
	DATA = 4096,  /* bytes behind the code that it reads and writes */
	GENERAL = 15, /* all but rsp */
	IMMEDIATE = 5,
};

/* What an instruction may read and change, in the order that run_with() has it. */
struct machine {
	uint8_t ymm[16][32];
	uint64_t general[GENERAL]; /* the last is rdi, which vmaskmovdqu stores by */
	uint64_t flags;
	uint8_t memory[DATA];
};

struct bench {
	struct slot {
		uint8_t bytes[SLOT];
		size_t length;
		bool relative; /* has an operand at rip + disp32 */
		bool runs;     /* on this CPU */
		struct machine left;
	} * slots;
	size_t count;
	uint8_t *code; /* of all slots, and DATA from @data */
	uint8_t *data;
	const char *path;
	struct process process; /* this one */
	struct uprobes *uprobes;
	int map; /* of hits */
};

/* Call @function with the registers of @machine, and leave there what they are afterwards. */
void run_with(struct machine *machine, const void *function);
__asm__(".text\n.type run_with, @function\nrun_with:\n"
	"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\npush %rdi\npush %rsi\n"
	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nvmovdqu (\\n * 32)(%rdi), %ymm\\n\n.endr\n"
	".set at, 512\n.irp r,rax,rbx,rcx,rdx,rsi,rbp,r8,r9,r10,r11,r12,r13,r14,r15,rdi\n"
	"mov at(%rdi), %\\r\n.set at, at + 8\n.endr\n"
	"call *(%rsp)\n"
	"xchg %rdi, 8(%rsp)\n" /* the last that changes anything; none of these has flags */
	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nvmovdqu %ymm\\n, (\\n * 32)(%rdi)\n.endr\n"
	".set at, 512\n.irp r,rax,rbx,rcx,rdx,rsi,rbp,r8,r9,r10,r11,r12,r13,r14,r15\n"
	"mov %\\r, at(%rdi)\n.set at, at + 8\n.endr\n"
	"mov 8(%rsp), %rax\nmov %rax, 624(%rdi)\npushfq\npop %rax\nmov %rax, 632(%rdi)\n"
	"vzeroupper\nadd $16, %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"
	".size run_with, . - run_with\n");

static sigjmp_buf not_had;

static void leave(int signal)
{
	(void)signal;
	siglongjmp(not_had, 1);
}

/* From the same registers and memory each time, what @slot leaves; false if the CPU has no such. */
static bool run(const struct bench *bench, size_t slot, struct machine *machine)
{
	uint32_t seed = (uint32_t)slot * 2654435761U + 1;

	for (size_t i = 0; i < sizeof(*machine); i++) {
		seed = seed * 1103515245 + 12345;
		((uint8_t *)machine)[i] = seed >> 16;
	}
	machine->general[GENERAL - 1] = (uintptr_t)bench->data;
	memcpy(bench->data, machine->memory, DATA);
	if (sigsetjmp(not_had, 1))
		return false;
	run_with(machine, bench->code + slot * SLOT);
	memcpy(machine->memory, bench->data, DATA);
	return true;
}

/* What the kernel looks at of an encoding. */
struct form {
	uint8_t map, opcode, modrm;
	bool is_short;
};

/* Fills in the rest, L, pp, W and vvvv, by @others, of which there are OTHERS. */
static void encode(const struct form *form, int others, uint8_t bytes[SLOT])
{
	uint8_t last = (others & 8 ? 0x0f : 0x08) << 3 | (others & 7);
	const uint8_t with_two[] = { 0xc5, 0x80 | last, form->opcode, form->modrm };
	const uint8_t with_three[] = { 0xc4, 0xe0 | form->map, (others & 16) << 3 | last,
				       form->opcode, form->modrm };

	memset(bytes, 0, SLOT);
	if (form->is_short)
		memcpy(bytes, with_two, sizeof(with_two));
	else
		memcpy(bytes, with_three, sizeof(with_three));
}

/* Is it an instruction, and one that may have a uprobe? */
static bool may_be_probed(const struct form *form, struct slot *slot)
{
	const struct span code = { slot->bytes, SLOT };
	struct decoded decoded;

	if (!decoded_read(&decoded, code, 0) || insn_probe_cost(code) != INSN_SINGLE_STEPPED)
		return false;
	assert_int_equal(decoded.is.encoding, ZYDIS_INSTRUCTION_ENCODING_VEX);
	slot->length = decoded.is.length;
	slot->relative = (form->modrm & 0xc7) == 0x05;
	if (decoded.is.raw.imm[0].size)
		slot->bytes[slot->length - 1] = IMMEDIATE;
	slot->bytes[slot->length] = 0xc3; /* ret */
	return true;
}

static void add(struct bench *bench, const struct form *form)
{
	struct slot *slot = &bench->slots[bench->count];

	for (int others = 0; others < (form->is_short ? OTHERS / 2 : OTHERS); others++) {
		encode(form, others, slot->bytes);
		if (may_be_probed(form, slot)) {
			bench->count++;
			assert_true(bench->count < SLOTS_MAX);
			return;
		}
	}
}

/*
 * All opcodes of all maps, between registers and with an operand relative to rip, whose address the
 * kernel puts into one of rsi, rdi and rbx that the instruction has no use for.
 */
static void collect(struct bench *bench)
{
	static const uint8_t modrms[] = { 0xca, 0x35, 0x1d };

	for (int i = 0; i < 256 * 3 * 3; i++) {
		struct form form = { .map = 1 + i / 3 % 3, .opcode = i / 9 };

		form.modrm = modrms[i % 3];
		add(bench, &form);
		form.is_short = form.map == 1;
		if (form.is_short)
			add(bench, &form);
	}
}

/* Behind the instruction, and an immediate, is where rip is. */
static void aim(const struct bench *bench, struct slot *slot)
{
	size_t modrm = slot->bytes[0] == 0xc5 ? 3 : 4;
	int32_t away = (int32_t)(bench->data - bench->code - (slot - bench->slots) * SLOT -
				 (ptrdiff_t)slot->length);

	if (slot->relative)
		memcpy(slot->bytes + modrm + 1, &away, sizeof(away));
}

static void map_code(struct bench *bench)
{
	size_t size = (bench->count * SLOT + DATA - 1) / DATA * DATA;
	uint8_t *bytes = calloc(1, size + DATA);
	int fd;

	assert_non_null(bytes);
	bench->data = bytes + size;
	bench->code = bytes;
	for (size_t i = 0; i < bench->count; i++) {
		aim(bench, &bench->slots[i]);
		memcpy(bytes + i * SLOT, bench->slots[i].bytes, SLOT);
	}
	bench->path = scratch_file("code", 0700, bytes, size + DATA);
	free(bytes);
	fd = open(bench->path, O_RDONLY | O_CLOEXEC);
	assert_return_code(fd, 0);
	bench->code = mmap(NULL, size + DATA, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(bench->code, MAP_FAILED);
	close(fd);
	bench->data = bench->code + size;
	assert_return_code(mprotect(bench->data, DATA, PROT_READ | PROT_WRITE), 0);
}

static int set_up(void **state)
{
	static struct bench bench;

	unit_needs_root("set uprobes");
	if (!__builtin_cpu_supports("avx2")) {
		printf("skipped: this CPU has no AVX2\n");
		exit(UNIT_SKIPPED);
	}
	scratch_make(state);
	bench.slots = calloc(SLOTS_MAX, sizeof(*bench.slots));
	assert_non_null(bench.slots);
	collect(&bench);
	map_code(&bench);
	assert_int_equal(process_init(&bench.process, getpid(), NULL), 0);
	*state = &bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	uprobes_destroy(bench->uprobes);
	process_deinit(&bench->process);
	free(bench->slots);
	return scratch_remove(state);
}

static void show(const struct slot *slot, const char *what)
{
	for (size_t i = 0; i < slot->length; i++)
		print_error("%02x ", slot->bytes[i]);
	print_error("%s\n", what);
}

/* Perf events take their time to be closed, so there not all have one. */
static bool has_probe(enum uprobe_means means, size_t slot)
{
	return means == UPROBE_MULTI || slot % 4 == 0;
}

/* Give slots a uprobe, which has the slot's number as its cookie. How many are refused. */
static size_t probe_all(struct bench *bench, enum uprobe_means means)
{
	struct uprobe_site *sites = calloc(SLOTS_MAX, sizeof(*sites));
	int fd = open(bench->path, O_RDONLY | O_CLOEXEC), program;
	size_t count = 0, refused = 0;

	assert_non_null(sites);
	assert_return_code(fd, errno);
	for (size_t i = 0; i < bench->count; i++) {
		if (has_probe(means, i))
			sites[count++] = (struct uprobe_site){ fd, 0, { i * SLOT }, i };
	}
	bench->map = hit_counter_map(SLOTS_MAX);
	assert_return_code(bench->map, errno);
	program = hit_counter_load(bench->map, means);
	assert_return_code(program, errno);
	assert_int_equal(uprobes_create(&bench->uprobes, means, program, &bench->process, NULL), 0);
	assert_int_equal(uprobes_attach(bench->uprobes, sites, count, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		if (sites[i].error)
			show(&bench->slots[sites[i].cookie], strerror(-sites[i].error));
		refused += sites[i].error != 0;
	}
	close(program);
	close(fd);
	free(sites);
	return refused;
}

/* Does @slot, which has a uprobe, do what it did without? */
static bool does_the_same(const struct bench *bench, size_t slot)
{
	static struct machine machine;

	if (run(bench, slot, &machine) &&
	    memcmp(&machine, &bench->slots[slot].left, sizeof(machine)) == 0)
		return true;
	show(&bench->slots[slot], "does something else with a uprobe");
	return false;
}

UNIT_TEST(probed_vex_instructions_do_what_they_did)
{
	struct bench *bench = *state;
	struct sigaction action = { .sa_handler = leave }, before;
	enum uprobe_means means = uprobe_multi_works() ? UPROBE_MULTI : UPROBE_PERF;
	size_t run_count = 0, wrong;

	assert_return_code(sigaction(SIGILL, &action, &before), errno);
	for (size_t i = 0; i < bench->count; i++) {
		bench->slots[i].runs = run(bench, i, &bench->slots[i].left);
		run_count += bench->slots[i].runs;
	}
	printf("%zu of %zu instructions run here\n", run_count, bench->count);
	assert_true(run_count > 400);
	wrong = probe_all(bench, means);
	for (size_t i = 0; i < bench->count; i++) {
		wrong += bench->slots[i].runs && !does_the_same(bench, i);
		assert_int_equal(hit_counter_read(bench->map, (uint32_t)i),
				 bench->slots[i].runs && has_probe(means, i));
	}
	assert_int_equal(wrong, 0);
	sigaction(SIGILL, &before, NULL);
}

UNIT_MAIN(set_up, tear_down)
