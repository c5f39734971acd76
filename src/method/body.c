// SPDX-License-Identifier: GPL-2.0-or-later
/* Tiers and states of bodies as they are printed. */
#include "method/body.h"

const char *tier_name(enum tier tier)
{
	static const char *const names[] = {
		[TIER_R2R] = "r2r",
		[TIER_TIER0] = "tier0",
		[TIER_MINOPT] = "minopt",
		[TIER_INSTRUMENTED] = "instrumented",
		[TIER_OPTIMIZED] = "optimized",
		[TIER_TIER1] = "tier1",
		[TIER_OSR] = "osr",
		[TIER_NATIVE] = "native",
		[TIER_UNKNOWN] = "unknown",
	};

	return names[tier];
}

const char *body_state_name(enum body_state state)
{
	static const char *const names[] = {
		[STATE_UNKNOWN] = "unknown",   [STATE_CURRENT] = "current",
		[STATE_PENDING] = "pending",   [STATE_SUPERSEDED] = "superseded",
		[STATE_REJECTED] = "rejected", [STATE_NO_CALLS] = NULL,
		[STATE_NO_BODY] = NULL,
	};

	return names[state];
}
