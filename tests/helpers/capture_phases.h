/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The phases of a capture before it is activated, and those after it was consumed, each in one
 * call. For tests, benchmarks and tools; session/ does the same in its own steps.
 */
#ifndef CAPTURE_PHASES_H
#define CAPTURE_PHASES_H

#include "capture/capture.h"

/* For struct capture_handlers: there is nothing to be done now and then. */
static inline int capture_no_tick(bool interval_over, void *ctx)
{
	(void)interval_over;
	(void)ctx;
	return 0;
}

/* Create, load and attach. After an error there is no capture. */
static inline int capture_begin(struct capture **capture, const struct options *options,
				struct process *process, struct plan *plan, const int *file_fds,
				const struct unwind_tables *unwind, struct error *err)
{
	int result = capture_create(capture, options, process, plan, err);

	if (result)
		return result;
	result = capture_load(*capture, unwind, err);
	result = result ? result : capture_attach(*capture, file_fds, -1, err);
	if (result) {
		capture_destroy(*capture);
		*capture = NULL;
	}
	return result;
}

static inline void capture_end(struct capture *capture, const struct capture_handlers *handlers)
{
	capture_deactivate(capture);
	capture_detach(capture);
	while (capture_drain(capture, handlers, true))
		;
}

#endif
