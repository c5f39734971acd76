// SPDX-License-Identifier: GPL-2.0-or-later
/* How long a million names take against one pattern: 10,000 different ones, 100 times over. */
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "method/method_name.h"
#include "method/pattern.h"

enum { NAMES = 10000, ROUNDS = 100 };

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(void)
{
	static const char *const patterns[] = {
		"Company.Product.Area42.*::Handle*",
		"*::HandleRequest77(int,string)",
		"*Request99*",
		"/Area4[0-9]\\..*::Handle\\w+77\\(/",
		"/(Alpha|Beta)Handler.*Request1\\d{2}\\(int32,string\\)$/",
	};
	static struct method_name names[NAMES];

	for (unsigned int i = 0; i < NAMES; i++) {
		text_printf(&names[i].type, "Company.Product.Area%u.%sHandler`1", i % 100,
			    i % 3 ? "Alpha" : "Gamma");
		text_add(&names[i].type_args, "System.Int32");
		text_printf(&names[i].name, "HandleRequest%u", i % 1000);
		text_add(&names[i].params, "int32,string");
	}
	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		struct error err = { .text = "" };
		struct pattern *pattern;
		size_t matched = 0;
		double start;

		if (pattern_create(&pattern, patterns[p], &err)) {
			fprintf(stderr, "pattern: %s\n", err.text);
			return 1;
		}
		start = now_ms();
		for (unsigned int i = 0; i < NAMES * ROUNDS; i++)
			matched += pattern_matches(pattern, &names[i % NAMES], &err) == 1;
		printf("%-58s %7zu of %d %7.0f ms\n", patterns[p], matched, NAMES * ROUNDS,
		       now_ms() - start);
		pattern_destroy(pattern);
	}
	return 0;
}
