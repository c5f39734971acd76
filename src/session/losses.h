/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run has lost: for the report at its end, and for who looks on meanwhile. */
#ifndef SESSION_LOSSES_H
#define SESSION_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "output/output.h"

struct session;

enum { LOSSES_MAX = 14 };

/* For programs by its reason, for people in a sentence. */
struct loss {
	struct output_loss output;
	const char *sentence;
};

/*
 * Those of which there are any; returns how many. Some are not known before the probes are gone.
 */
size_t losses_collect(const struct session *session, uint64_t ring_buffer_full,
		      struct loss losses[LOSSES_MAX]);

#endif
