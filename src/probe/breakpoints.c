// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts breakpoints on all CPUs and moves them, for capture/ and the scheduler in registers/.
 *
 * Per CPU, and not per thread and inherited by new ones: a thread that turns up while these are
 * armed or moved has them or not, which cannot be told, so counts were too high in 30 runs of 30;
 * and with 200 threads to arm or move one takes milliseconds (docs/performance.md has it all).
 *
 * An event with a period of 1 is never throttled: the kernel calls its overflow handler with
 * `throttle` 0 (perf_swevent_overflow(), read in 6.1 and 6.12). For what it leaves out otherwise
 * see no_preempt.h.
 */
#include "probe/breakpoints.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "probe/breakpoint_event.h"
#include "probe/no_preempt.h"
#include "probe/online_cpus.h"
#include "bpf/follow.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "target/process.h"
#include "target/refusal.h"

enum {
	PARKED_ADDRESS = 0x1000, /* any: what is parked is disabled */
	OPEN_TRIES = 5,
	OPEN_PAUSE_MS = 10, /* between two of them */
};

struct slot {
	int *fds; /* by place; -1: no CPU is there at present. NULL: the slot is free */
	struct address address;
	bool parked;	    /* it watches nothing */
	uint64_t past_hits; /* of events that are closed already */
};

struct breakpoints {
	struct breakpoints_config config;
	struct slot slots[BREAKPOINTS_MAX];
	uint64_t removed_hits;
	/* Where a breakpoint has its events: on each CPU there may be, or (1) on the one thread. */
	int place_count;
	bool dead;	 /* they do not fire: there are none to be had */
	size_t watching; /* slots that are not parked; atomic, since others ask too */
	struct online_cpus online;
};

/* Events ---------------------------------------------------------------------------------- */

static int place_event(const struct breakpoints *breakpoints, int place, struct address address)
{
	pid_t tid = breakpoints->config.tid;
	int fd = tid ? breakpoint_event_open(address, tid, -1) :
		       breakpoint_event_open(address, -1, place);
	int result = fd;

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, breakpoints->config.program_fd) != 0)
		result = -errno;
	/* Still alive, so the number was that thread's when it was used. */
	else if (fd >= 0 && tid && !process_thread_alive(breakpoints->config.process, tid))
		result = -ESRCH;
	if (result < 0)
		cleanup_close(&fd);
	return result;
}

static uint64_t read_event(int fd)
{
	uint64_t hits = 0;

	return read(fd, &hits, sizeof(hits)) == sizeof(hits) ? hits : 0;
}

static void close_event(struct slot *slot, int place)
{
	if (slot->fds[place] < 0)
		return;
	/* What it has counted is final only once it cannot fire. */
	ioctl(slot->fds[place], PERF_EVENT_IOC_DISABLE, 0);
	slot->past_hits += read_event(slot->fds[place]);
	close(slot->fds[place]);
	slot->fds[place] = -1;
}

static void close_slot(struct breakpoints *breakpoints, struct slot *slot)
{
	for (int place = 0; place < breakpoints->place_count; place++)
		close_event(slot, place);
	breakpoints->removed_hits += slot->past_hits;
	free(slot->fds);
	*slot = (struct slot){ 0 };
}

/* Opened disabled, all of them, before the first is enabled: armed everywhere or nowhere. */
static int open_slot(const struct breakpoints *breakpoints, struct slot *slot,
		     struct address address)
{
	int opened = 0;

	*slot = (struct slot){ .address = address };
	slot->fds = malloc((size_t)breakpoints->place_count * sizeof(*slot->fds));
	if (!slot->fds)
		return -ENOMEM;
	for (int place = 0; place < breakpoints->place_count; place++)
		slot->fds[place] = -1;
	for (int place = 0; place < breakpoints->place_count; place++) {
		int fd = place_event(breakpoints, place, address);

		if (fd == -ENODEV && !breakpoints->config.tid)
			continue; /* a CPU that is off */
		if (fd < 0)
			return fd;
		slot->fds[place] = fd;
		opened++;
	}
	return opened ? 0 : -ENODEV;
}

/*
 * The same, and again a few times: whoever only tries whether there are any (another place-probe as
 * it begins) has some for a moment.
 */
static int open_slot_patiently(struct breakpoints *breakpoints, struct slot *slot,
			       struct address address)
{
	const struct timespec pause = { .tv_nsec = OPEN_PAUSE_MS * NS_PER_MS };
	int result = open_slot(breakpoints, slot, address);

	for (int i = 0; i < OPEN_TRIES && result == -ENOSPC; i++) {
		close_slot(breakpoints, slot);
		nanosleep(&pause, NULL);
		result = open_slot(breakpoints, slot, address);
	}
	return result;
}

static int enable_slot(const struct breakpoints *breakpoints, const struct slot *slot)
{
	for (int place = 0; place < breakpoints->place_count; place++) {
		if (slot->fds[place] >= 0 && ioctl(slot->fds[place], PERF_EVENT_IOC_ENABLE, 0) != 0)
			return -errno;
	}
	return 0;
}

/* Failures -------------------------------------------------------------------------------- */

static int tell_no_register(const struct breakpoints *breakpoints, struct address address,
			    struct error *err)
{
	char users[BREAKPOINT_USERS_BYTES];

	if (breakpoints->dead)
		return error_set(err, -ENOSPC, BREAKPOINTS_DEAD);
	if (!err)
		return -ENOSPC; /* to find out who has them takes a while */
	breakpoint_users_tell((int)breakpoints_count(breakpoints), breakpoints->config.tid, users);
	return error_set(
		err, -ENOSPC,
		"no debug register is free for the breakpoint at 0x%" PRIx64
		": %s; end what has them, probe fewer methods that need one, or use --share, or --remap, which needs none for code that is final",
		address.value, users);
}

static int tell_refusal(const struct breakpoints *breakpoints, int code, struct address address,
			struct error *err)
{
	switch (code) {
	case -ENOSPC:
		return tell_no_register(breakpoints, address, err);
	case -EACCES:
	case -EPERM:
		return error_set(err, code, "the kernel refuses hardware breakpoints (%s): %s",
				 strerror(-code), refusal_remedy());
	case -ENODEV:
	case -ENOENT:
	case -EOPNOTSUPP:
		return error_set(
			err, code,
			"this machine offers no hardware breakpoints for code (--remap needs none)");
	case -EINVAL:
		return error_set(
			err, code,
			"0x%" PRIx64
			" is no address that can have a breakpoint; look for the method with --list",
			address.value);
	case -EMFILE:
	case -ENFILE:
		return error_set(
			err, code,
			"a breakpoint needs a descriptor for each of %d CPUs, and there are too few: raise the limit (ulimit -n)",
			breakpoints->place_count);
	case -ESRCH:
		return error_set(
			err, code,
			"thread %d has exited, so it gets no breakpoint: leave -t out, or name another",
			breakpoints->config.tid);
	default:
		return error_set(err, code,
				 "cannot set a hardware breakpoint at 0x%" PRIx64
				 ": %s (--remap needs none)",
				 address.value, strerror(-code));
	}
}

/* Before the breakpoint is there: its first hit must find the site. */
static int tell_program(const struct breakpoints *breakpoints, int slot, struct address address,
			uint64_t cookie, struct error *err)
{
	const struct breakpoint_site value = { .cookie = cookie, .slot = (uint32_t)slot };
	const struct no_preempt before = no_preempt_begin();
	int result =
		bpf_map_update_elem(breakpoints->config.sites_fd, &address.value, &value, BPF_ANY);

	no_preempt_end(&before);
	return result ? error_set(err, result,
				  "cannot note the breakpoint at 0x%" PRIx64
				  " for the BPF program: %s",
				  address.value, strerror(-result)) :
			0;
}

/* The breakpoints ------------------------------------------------------------------------- */

int breakpoints_create(struct breakpoints **out, const struct breakpoints_config *config,
		       struct error *err)
{
	struct breakpoints *breakpoints = calloc(1, sizeof(*breakpoints));

	if (!breakpoints)
		return error_set(err, -ENOMEM, "no memory for hardware breakpoints");
	*breakpoints = (struct breakpoints){
		.config = *config,
		.dead = config->unused || !breakpoint_events_fire(),
	};
	breakpoints->place_count = config->tid ? 1 : possible_cpus(err);
	/* Before the first event is opened: a CPU that comes later is a change. */
	online_cpus_open(&breakpoints->online);
	if (breakpoints->place_count < 1) {
		int result = breakpoints->place_count;

		breakpoints->place_count = 0;
		breakpoints_destroy(breakpoints);
		return result;
	}
	*out = breakpoints;
	return 0;
}

size_t breakpoints_count(const struct breakpoints *breakpoints)
{
	size_t count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += breakpoints->slots[i].fds != NULL;
	return count;
}

static void note_watching(struct breakpoints *breakpoints)
{
	size_t watching = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		watching += breakpoints->slots[i].fds && !breakpoints->slots[i].parked;
	__atomic_store_n(&breakpoints->watching, watching, __ATOMIC_RELAXED);
}

size_t breakpoints_watching(const struct breakpoints *breakpoints)
{
	return __atomic_load_n(&breakpoints->watching, __ATOMIC_RELAXED);
}

static int free_slot(const struct breakpoints *breakpoints)
{
	int i = breakpoints->dead ? BREAKPOINTS_MAX : 0;

	while (i < BREAKPOINTS_MAX && breakpoints->slots[i].fds)
		i++;
	return i;
}

/* Slot @i, which was free, has a breakpoint then: one that is armed, or @parked. Returns @i. */
static int fill_slot(struct breakpoints *breakpoints, int i, struct address address, bool patient,
		     bool parked, struct error *err)
{
	struct slot slot;
	int result = patient ? open_slot_patiently(breakpoints, &slot, address) :
			       open_slot(breakpoints, &slot, address);

	if (result == 0 && !parked)
		result = enable_slot(breakpoints, &slot);
	if (result) {
		if (slot.fds)
			close_slot(breakpoints, &slot);
		return tell_refusal(breakpoints, result, address, err);
	}
	slot.parked = parked;
	breakpoints->slots[i] = slot;
	note_watching(breakpoints);
	return i;
}

int breakpoints_add(struct breakpoints *breakpoints, struct address address, uint64_t cookie,
		    struct error *err)
{
	int i = free_slot(breakpoints), result;

	if (i == BREAKPOINTS_MAX)
		return tell_no_register(breakpoints, address, err);
	result = tell_program(breakpoints, i, address, cookie, err);
	return result ? result : fill_slot(breakpoints, i, address, true, false, err);
}

int breakpoints_reserve(struct breakpoints *breakpoints, bool patient, struct error *err)
{
	const struct address nowhere = { PARKED_ADDRESS };
	int i = free_slot(breakpoints);

	if (i == BREAKPOINTS_MAX)
		return tell_no_register(breakpoints, nowhere, err);
	return fill_slot(breakpoints, i, nowhere, patient, true, err);
}

void breakpoints_park(struct breakpoints *breakpoints, int slot)
{
	struct slot *parked = &breakpoints->slots[slot];

	for (int place = 0; parked->fds && place < breakpoints->place_count; place++) {
		if (parked->fds[place] >= 0)
			ioctl(parked->fds[place], PERF_EVENT_IOC_DISABLE, 0);
	}
	parked->parked = true;
	note_watching(breakpoints);
}

static int move_events(const struct breakpoints *breakpoints, const struct slot *slot, int count,
		       struct address address)
{
	struct perf_event_attr attr = breakpoint_event_attr(address, false);

	for (int place = 0; place < count; place++) {
		if (slot->fds[place] >= 0 &&
		    ioctl(slot->fds[place], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) != 0) {
			int result = -errno;

			/* A refused change leaves an event that was opened disabled that way. */
			if (!slot->parked)
				ioctl(slot->fds[place], PERF_EVENT_IOC_ENABLE, 0);
			move_events(breakpoints, slot, place, slot->address);
			return result;
		}
	}
	return 0;
}

int breakpoints_move(struct breakpoints *breakpoints, int slot, struct address address,
		     uint64_t cookie, struct error *err)
{
	struct slot *moved = &breakpoints->slots[slot];
	int result = tell_program(breakpoints, slot, address, cookie, err);

	if (result)
		return result;
	result = move_events(breakpoints, moved, breakpoints->place_count, address);
	if (result && moved->parked)
		breakpoints_park(breakpoints, slot);
	if (result)
		return tell_refusal(breakpoints, result, address, err);
	moved->address = address;
	moved->parked = false;
	note_watching(breakpoints);
	return 0;
}

/* To read an event that may fire, the kernel interrupts its CPU (perf_event_read()). */
void breakpoints_interrupt(const struct breakpoints *breakpoints, int slot)
{
	(void)breakpoints_read(breakpoints, slot);
}

void breakpoints_remove(struct breakpoints *breakpoints, int slot)
{
	if (breakpoints->slots[slot].fds)
		close_slot(breakpoints, &breakpoints->slots[slot]);
	note_watching(breakpoints);
}

/* CPUs that come and go ------------------------------------------------------------------- */

/*
 * The kernel drops the events of a CPU that is switched off, for good. Whether one is there is
 * asked of the kernel, by opening the event anew: the list may be made up.
 */
static int renew_slot(const struct breakpoints *breakpoints, struct slot *slot)
{
	int renewed = 0;

	for (int place = 0; place < breakpoints->place_count; place++) {
		int fd;

		if (slot->fds[place] >= 0 && online_cpus_has(&breakpoints->online, place))
			continue;
		close_event(slot, place);
		fd = place_event(breakpoints, place, slot->address);
		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return fd;
		slot->fds[place] = fd;
		if (slot->parked)
			continue;
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
			return -errno;
		renewed = 1;
	}
	return renewed;
}

int breakpoints_keep(struct breakpoints *breakpoints, struct error *err)
{
	int renewed = 0;

	if (breakpoints->config.tid || !online_cpus_changed(&breakpoints->online))
		return 0;
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct slot *slot = &breakpoints->slots[i];
		int result = slot->fds ? renew_slot(breakpoints, slot) : 0;

		if (result < 0)
			return tell_refusal(breakpoints, result, slot->address, err);
		renewed |= result;
	}
	return renewed;
}

/* The end --------------------------------------------------------------------------------- */

uint64_t breakpoints_read(const struct breakpoints *breakpoints, int slot)
{
	const struct slot *asked = &breakpoints->slots[slot];
	uint64_t hits = asked->past_hits;

	for (int place = 0; asked->fds && place < breakpoints->place_count; place++) {
		if (asked->fds[place] >= 0)
			hits += read_event(asked->fds[place]);
	}
	return hits;
}

uint64_t breakpoints_stop(struct breakpoints *breakpoints)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		breakpoints_remove(breakpoints, i);
	return breakpoints->removed_hits;
}

void breakpoints_destroy(struct breakpoints *breakpoints)
{
	if (!breakpoints)
		return;
	breakpoints_stop(breakpoints);
	cleanup_close(&breakpoints->online.fd);
	free(breakpoints);
}

int breakpoints_free(struct error *err)
{
	int cpus = possible_cpus(err), least = DEBUG_REGISTERS, seen = 0;
	const struct breakpoints nobody = { .place_count = cpus };

	if (cpus < 0)
		return cpus;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int count = breakpoint_events_free(-1, cpu);

		if (count == -ENODEV)
			continue; /* a CPU that is off */
		if (count < 0)
			return tell_refusal(&nobody, count, (struct address){ 0 }, err);
		least = count < least ? count : least;
		seen++;
	}
	return seen ? least : tell_refusal(&nobody, -ENODEV, (struct address){ 0 }, err);
}
