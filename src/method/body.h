/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A body is one compiled version of a method: how it was compiled, and whether calls of the method
 * go to it.
 */
#ifndef METHOD_BODY_H
#define METHOD_BODY_H

#include <stdbool.h>

/* Names as in docs/json.md. */
enum tier {
	TIER_R2R,
	TIER_TIER0,
	TIER_MINOPT,
	TIER_INSTRUMENTED,
	TIER_OPTIMIZED,
	TIER_TIER1,
	TIER_OSR,
	TIER_NATIVE, /* no method, but a function of an ELF file */
	TIER_UNKNOWN,
};

enum body_state {
	STATE_UNKNOWN,
	STATE_CURRENT,	  /* calls of the method go to it */
	STATE_PENDING,	  /* compiled, but calls do not go to it yet */
	STATE_SUPERSEDED, /* calls go to a newer one */
	STATE_REJECTED,	  /* precompiled, but the runtime did not take it */
	STATE_NO_CALLS,	  /* entered otherwise than by a call: OSR */
	STATE_NO_BODY,
};

const char *tier_name(enum tier tier);

/* NULL for STATE_NO_CALLS and STATE_NO_BODY. */
const char *body_state_name(enum body_state state);

#endif
