// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From activation on: what the ring buffer brings goes to the handlers, until a limit, a signal or
 * the target's exit. What is in the ring after detaching is handed on here, too.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "capture/capture_internal.h"
#include "follow/follow.h"
#include "target/process.h"

enum {
	POLL_MS = 50, /* events wait no longer than this to be printed */
	CLOCK_EVENTS = 16,
	HELD_MS = 5, /* so often it is looked whether hits that stay still have room */
};

/* Of a watched call: are its values behind its frames? */
static bool has_values(const struct capture *capture, const struct hit_event *event, size_t size)
{
	const struct watch_values *values = hit_event_values(event);

	if (!capture->kept)
		return true;
	size -= HIT_EVENT_HEADER_BYTES + event->frame_count * sizeof(event->frames[0]);
	return event->watched >= sizeof(*values) && event->watched <= size &&
	       (size_t)values->entry_bytes + values->exit_bytes <=
		       event->watched - sizeof(*values) &&
	       values->fate < WATCH_FATES;
}

int capture_on_event(struct capture *capture, const void *data, size_t size)
{
	const struct hit_event *event = data;
	bool more = true;

	/* The kernel's word, but a wrong one would make us read past the record. */
	if (size >= HIT_EVENT_HEADER_BYTES &&
	    event->site < capture->plan->count + FOLLOW_SITES_MAX &&
	    event->stack_end < STACK_ENDS && event->merged <= MERGE_TABLES * MERGE_SLOTS &&
	    HIT_EVENT_HEADER_BYTES + event->frame_count * sizeof(event->frames[0]) <= size &&
	    has_values(capture, event, size))
		more = capture->handlers->hit(event, capture->handlers->ctx);
	/* The clock is not looked at for each. */
	if (capture->consume_until_ns && capture->consumed++ % CLOCK_EVENTS == 0 &&
	    clock_now_ns() >= capture->consume_until_ns)
		more = false;
	return more ? 0 : -EAGAIN;
}

int capture_open_signals(struct capture *capture, struct error *err)
{
	struct sigaction hangup;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	/* A signal that is blocked is kept even if it is ignored, and nohup wants it ignored. */
	if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
		sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return error_set(err, -errno, "cannot block signals: %s", strerror(errno));
	capture->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (capture->signal_fd < 0)
		return error_set(err, -errno, "cannot open a signalfd: %s", strerror(errno));
	return 0;
}

/* Poll until the sooner of the next deadline and the time that events may wait. */
static int timeout_ms(uint64_t now, uint64_t end, uint64_t next_interval)
{
	uint64_t until = now + (uint64_t)POLL_MS * NS_PER_MS;

	if (end && end < until)
		until = end;
	if (next_interval && next_interval < until)
		until = next_interval;
	return until <= now ? 0 : (int)((until - now + NS_PER_MS - 1) / NS_PER_MS);
}

static int keep_attached(struct capture *capture, struct error *err)
{
	int moved = capture->uprobes ? uprobes_keep(capture->uprobes, err) : 0;
	int renewed = 0;

	if (moved < 0)
		return moved;
	/* What cannot be given to a CPU that was switched on is lost there; the rest goes on. */
	if (!capture->follow)
		renewed = breakpoints_keep(capture->breakpoints, NULL);
	capture->losses.anchor_exits += moved > 0;
	capture->losses.cpus_switched_on += renewed != 0;
	return 0;
}

/*
 * Hand on what is waiting, but not for longer than a while: a target that is hit faster than hits
 * are printed would keep us from the clock and from signals. True if more may be waiting.
 */
static bool consume_some(struct capture *capture)
{
	capture->consume_until_ns = clock_now_ns() + (uint64_t)POLL_MS * NS_PER_MS;
	return capture_read_ring(capture) == -EAGAIN;
}

/* Are hits to stay where they are? While the ring buffer has room for as many again. */
static bool waits(const struct capture *capture, const struct capture_handlers *handlers)
{
	return handlers->waits &&
	       capture_ring_written(capture) - capture_ring_read(capture) <
		       capture->options->buffer_bytes / 2 &&
	       handlers->waits(handlers->ctx);
}

int capture_consume(struct capture *capture, const struct capture_handlers *handlers,
		    enum capture_end *end, struct error *err)
{
	const struct options *options = capture->options;
	uint64_t start = clock_now_ns();
	uint64_t deadline = options->duration_ns ? start + options->duration_ns : 0;
	uint64_t next_interval = options->interval_ns ? start + options->interval_ns : 0;
	struct pollfd fds[] = {
		{ .fd = capture->wakes_fd, .events = POLLIN },
		{ .fd = capture->signal_fd, .events = POLLIN },
		{ .fd = capture->process->pidfd, .events = POLLIN },
		{ .fd = capture->follow ? follow_fd(capture->follow) : -1, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	bool more_waiting = false, busy = false;

	capture->handlers = handlers;
	for (;;) {
		uint64_t now = clock_now_ns();
		bool interval_over = next_interval && now >= next_interval;
		bool held = waits(capture, handlers);
		int wait_ms = (more_waiting && !held) || busy ?
				      0 :
				      timeout_ms(now, deadline, next_interval);
		int result;

		if (held && wait_ms > HELD_MS)
			wait_ms = HELD_MS;
		else if (wait_ms && !held && !capture_may_sleep(capture))
			wait_ms = 0;
		fds[4].fd = handlers->wake_fd ? *handlers->wake_fd : -1;
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms) < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot wait for events: %s",
					 strerror(errno));
		capture_wakes(capture);
		if (!held)
			more_waiting = consume_some(capture);
		if (interval_over)
			next_interval += options->interval_ns;
		result = handlers->tick(interval_over, handlers->ctx);
		busy = result > 0;
		if (result < 0)
			*end = CAPTURE_HANDLER_ENDED;
		else if (fds[1].revents)
			*end = CAPTURE_INTERRUPTED;
		else if (fds[2].revents)
			*end = CAPTURE_TARGET_EXITED;
		else if (options->max_hits &&
			 __atomic_load_n(&capture->bpf->bss->hits_taken, __ATOMIC_RELAXED) >=
				 options->max_hits)
			*end = CAPTURE_ENOUGH_HITS;
		else if (deadline && clock_now_ns() >= deadline)
			*end = CAPTURE_TIME_IS_UP;
		else {
			result = keep_attached(capture, err);
			if (result)
				return result;
			continue;
		}
		/* It may have gone since the last look, and calls with it. */
		if (*end != CAPTURE_TARGET_EXITED && capture->uprobes &&
		    !uprobes_anchored(capture->uprobes))
			capture->losses.anchor_exits++;
		return 0;
	}
}

bool capture_drain(struct capture *capture, const struct capture_handlers *handlers, bool last)
{
	capture->handlers = handlers;
	capture->consume_until_ns = 0;
	if (capture_read_ring(capture) == -EAGAIN)
		return true;
	/* They cost the target nothing but at a collection, and the last hits are named by them. */
	if (last)
		capture_unwatch_moves(capture);
	return false;
}
