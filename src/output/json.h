/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON half of output.h: one object a line, "type" first. */
#ifndef OUTPUT_JSON_H
#define OUTPUT_JSON_H

#include "output/histogram.h"
#include "output/output.h"

void json_site(struct output *output, const struct site *site, struct resolution *resolution);
void json_hit(struct output *output, const struct hit *hit, uint64_t time_ns);
void json_histogram(struct output *output, const struct histogram_label *label,
		    const struct histogram *histogram, const char *const *bounds);
void json_folded(struct output *output, const char *stack, uint64_t count);
void json_count_begin(struct output *output, const struct site *site, uint64_t calls);
void json_count_body(struct output *output, const struct site *site, uint64_t calls);
void json_count_bounds(struct output *output, const char *const *codes);
void json_count_end(struct output *output);
void json_summary(struct output *output, uint64_t hits, const struct output_loss *losses,
		  const char *const *lower_bounds, const struct output_stacks *stacks);

#endif
