// SPDX-License-Identifier: GPL-2.0-or-later
/* Which options do not go together, and why; for options.c, once all are read. */
#include "cli/combinations.h"

#include <errno.h>

#include "base/error.h"
#include "cli/options.h"

int options_check(const struct options *options, struct error *err)
{
	if (options->interval_ns && options->mode != MODE_COUNT && options->mode != MODE_FOLDED &&
	    options->mode != MODE_HIST)
		return error_set(err, -EINVAL, "-i goes with -c, -f or -H");
	if (options->mode != MODE_HIST && (options->slow_ns || options->by || options->unit))
		return error_set(err, -EINVAL, "%s goes with -H",
				 options->slow_ns ? "--min" :
				 options->by	  ? "--by" :
						    "a unit of time");
	if (options->slow_ns && (options->by || options->linear.step_ns || options->interval_ns))
		return error_set(err, -EINVAL,
				 "--min prints slow calls and no histogram, so %s has no meaning",
				 options->by		 ? "--by" :
				 options->linear.step_ns ? "--hist=linear" :
							   "-i");
	if (options->mode == MODE_FOLDED && options->stack == STACK_MODE_NONE)
		return error_set(err, -EINVAL, "--folded merges stacks, and --no-stack takes none");
	if (options->source_maps && options->stack == STACK_MODE_NONE)
		return error_set(err, -EINVAL,
				 "--source-maps is for lines in stacks, and --no-stack takes none");
	if (options->format == FORMAT_JSON && options->mode == MODE_DRY_RUN)
		return error_set(
			err, -EINVAL,
			"--dry-run prints commands, not JSON; --list -j has the same sites");
	if ((options->sample_every || options->max_rate) && options->mode != MODE_HITS &&
	    options->mode != MODE_FOLDED)
		return error_set(err, -EINVAL, "%s is for hits that are printed, each or with -f",
				 options->sample_every ? "--sample" : "--max-rate");
	if ((options->sample_every || options->max_rate) && options->max_hits)
		return error_set(err, -EINVAL,
				 "-N is for the first hits, so %s leaves out none of them",
				 options->sample_every ? "--sample" : "--max-rate");
	if (options->expire_at_ns && (options->mode == MODE_LIST || options->mode == MODE_DRY_RUN))
		return error_set(err, -EINVAL, "--expire is for probes, and %s places none",
				 options->mode == MODE_LIST ? "--list" : "--dry-run");
	if (options->wait && (options->mode == MODE_LIST || options->mode == MODE_DRY_RUN))
		return error_set(err, -EINVAL,
				 "--wait goes with probing; %s shows what there is now",
				 options->mode == MODE_LIST ? "--list" : "--dry-run");
	return 0;
}
