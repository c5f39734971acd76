// SPDX-License-Identifier: GPL-2.0-or-later
/* What was lost, from all who know of it, for report.c and live.c. */
#include "base/shortage.h"
#include "follow/follow.h"
#include "session/session_internal.h"

size_t losses_collect(const struct session *session, uint64_t ring_buffer_full,
		      struct loss losses[LOSSES_MAX])
{
	const struct capture_losses lost = capture_losses(session->capture);
	const struct latency_losses latency = capture_latency_losses(session->capture);
	const struct watch_losses watch = session->values ? capture_watch_losses(session->capture) :
							    (struct watch_losses){ 0 };
	const struct follow *follow = session->followed.follow;
	/* Until it has ended, that is its thread's. */
	bool over = session->state > RUN_CONSUME;
	uint64_t unreported = follow && over ? follow_losses(follow).compilations : 0;
	const struct loss all[LOSSES_MAX] = {
		{ { "ring-buffer-full", ring_buffer_full },
		  "hits found the ring buffer full, and are counted but not shown (--buffer makes "
		  "it larger)" },
		{ { "anchor-thread-exited", lost.anchor_exits },
		  "times the thread that the probes hung on exited and they were moved, which "
		  "misses an unknown number of hits" },
		{ { "cpu-switched-on", lost.cpus_switched_on },
		  "times a CPU was switched on, which had no breakpoints until then; an unknown "
		  "number of hits was missed" },
		{ { "breakpoint-missed", lost.breakpoints_missed },
		  "hits of breakpoints, at most, were left out by the kernel" },
		{ { "breakpoint-unexplained", lost.breakpoints_unexplained },
		  "hits of breakpoints were at an address where no site is known" },
		{ { "stray-trap", lost.spurious_traps },
		  "times the hypervisor lost what a breakpoint's hit was, and the target got "
		  "SIGTRAP for it: .NET does not survive that (docs/limits.md)" },
		{ { "call-not-timed", latency.untimed },
		  "calls are counted and were not timed: their body's exits had no probes, they "
		  "were nested too deep, or there were too many threads" },
		{ { "duration-lost", latency.durations },
		  "times there was no room for one more duration in the histograms" },
		{ { "compile-event-lost", unreported },
		  "compilations were not reported, and what they made was not probed" },
		{ { "call-not-captured", watch.slots },
		  "calls were counted and are not shown, since too many began at a time" },
		{ { "end-not-kept", watch.not_kept },
		  "calls were shown without their end: more were under way, or one within the "
		  "other, than there is room for" },
		{ { OUTPUT_NO_ROOM, session->output.left_out },
		  "hits have no stack of their own in the output, for want of room (--memory gives "
		  "more)" },
		{ { "v8-moved", session->stacks.moved },
		  "JavaScript frames have no name, script or line, since V8 had moved or thrown away what says it" },
		{ { "out-of-memory", shortage_count() },
		  "times memory was refused, and what it was for is missing, such as bodies or names (run it where there is more)" },
	};
	size_t count = 0;

	for (size_t i = 0; i < LOSSES_MAX; i++) {
		if (all[i].output.count)
			losses[count++] = all[i];
	}
	return count;
}
