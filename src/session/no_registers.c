// SPDX-License-Identifier: GPL-2.0-or-later
/* When others have the debug registers that a run needs. */
#include "probe/breakpoint_event.h"
#include "probe/breakpoints.h"
#include "follow/follow.h"
#include "plan/timed.h"
#include "base/log.h"
#include "session/session_internal.h"

bool session_lacks_registers(const struct session *session)
{
	const struct plan *plan = &session->plan;
	bool lacks = false;

	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		if (site->mechanism != MECHANISM_NONE || site->reason == REASON_KERNEL_REFUSED)
			return false;
		lacks |= site->reason == REASON_NO_DEBUG_REGISTER;
	}
	return lacks;
}

static const char *without_registers(const struct session *session)
{
	return options_may_remap(session->options) ? "" : ", or give --remap, which needs none";
}

int session_registers(const struct session *session)
{
	const struct follow *follow = session->followed.follow;

	return follow ? follow_registers(follow) : BREAKPOINTS_MAX;
}

void session_add_registers(const struct session *session, struct text *out)
{
	int ours = session_registers(session);

	text_printf(out, "%d", ours);
	if (ours < BREAKPOINTS_MAX)
		text_printf(out, " of %d, others having the rest", BREAKPOINTS_MAX);
}

void session_log_registers(const struct session *session)
{
	int ours = session_registers(session);
	char users[BREAKPOINT_USERS_BYTES];

	if (ours == BREAKPOINTS_MAX || capture_breakpoint_problem(session->capture))
		return;
	breakpoint_users_tell(ours, session->options->tid, users);
	if (ours > 0)
		log_print(
			"others have debug registers, so of code that the runtime compiles %d bod%s at a time %s probed: %s; end what has them%s",
			ours, ours == 1 ? "y" : "ies", ours == 1 ? "is" : "are", users,
			without_registers(session));
	else if (breakpoint_events_fire())
		log_print(
			"no debug register is free, so code that the runtime compiles is not probed until one is: %s; end what has them%s",
			users, without_registers(session));
	else
		log_print("%s, so code that the runtime compiles is not probed%s", BREAKPOINTS_DEAD,
			  options_may_remap(session->options) ? " at once" :
								" (--remap needs none)");
}

bool session_wants_more_registers(const struct session *session, int *wanted, int *free_registers)
{
	const struct plan *plan = &session->plan;

	*wanted = 0;
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].mechanism == MECHANISM_BREAKPOINT)
			*wanted += (int)site_probe_count(&plan->sites[i]);
	}
	*free_registers = *wanted && breakpoint_events_fire() ? breakpoints_free(NULL) : 0;
	return *free_registers >= 0 && *free_registers < *wanted;
}

void session_log_registers_wanted(const struct session *session)
{
	char users[BREAKPOINT_USERS_BYTES];
	int wanted, free_registers;

	/* Who may not ask may not run the commands either. */
	if (!session_wants_more_registers(session, &wanted, &free_registers))
		return;
	breakpoint_users_tell(0, 0, users);
	log_print(
		"the commands need %d debug register%s, and %d %s free now: %s; end what has them, or list fewer methods",
		wanted, text_plural((uint64_t)wanted), free_registers,
		text_are((uint64_t)free_registers), users);
}

bool session_had_no_register(const struct session *session, struct error *err)
{
	const struct follow *follow = session->followed.follow;
	const struct plan *plan = &session->plan;
	size_t lacking = 0;

	if (!follow || session_registers(session) > 0)
		return false;
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].mechanism == MECHANISM_UPROBE)
			return false;
		if (plan->sites[i].reason != REASON_OTHER_METHOD &&
		    sites_trouble(follow_sites(follow), i) & TROUBLE_NO_REGISTER)
			lacking++;
	}
	if (lacking == 0)
		return false;
	error_fill(err, "%zu bod%s matched, but none was probed: %s%s", lacking,
		   lacking == 1 ? "y" : "ies",
		   breakpoint_events_fire() ? "others had all debug registers to the end" :
					      BREAKPOINTS_DEAD,
		   !options_may_remap(session->options) ? "; --remap needs none" :
		   breakpoint_events_fire()		? "; end what has them" :
							  "; run on until their pages are full");
	return true;
}
