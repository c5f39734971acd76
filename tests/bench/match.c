// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long reading and matching the framework's largest image takes: from mapped bytes to
 * all matching bodies, everything opened anew each time. The best of some rounds.
 *
 *   match [FILE]     default: the CoreLib of the self-contained test app
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/dotnet/find.h"
#include "base/error.h"
#include "method/pattern.h"

enum { ROUNDS = 20 };

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int count_match(const struct dotnet_match *match, void *ctx)
{
	*(size_t *)ctx += match->kind == MATCH_BODY;
	return 0;
}

static bool never_mapped(const void *ctx, uint64_t offset, uint64_t size)
{
	(void)ctx;
	(void)offset;
	(void)size;
	return false;
}

static double round_ms(struct span bytes, const char *text, size_t *bodies)
{
	struct dotnet_source source = { .name = "image.dll",
					.bytes = bytes,
					.is_mapped = never_mapped };
	struct dotnet_images images = { 0 };
	struct error err = { .text = "" };
	struct pattern *pattern;
	double start = now_ms(), end;

	*bodies = 0;
	if (pattern_create(&pattern, text, &err) || dotnet_images_add(&images, &source, &err) ||
	    dotnet_find(&images, NULL, pattern, false, count_match, bodies, &err)) {
		fprintf(stderr, "match: %s\n", err.text);
		_exit(1);
	}
	end = now_ms();
	pattern_destroy(pattern);
	dotnet_images_deinit(&images);
	return end - start;
}

int main(int argc, char **argv)
{
	static const char *const patterns[] = {
		"System.Threading.Thread::Sleep",
		"System.Collections.Generic.List`1::Add",
		"System.Threading.*::*",
		"*::*",
		"/Sleep\\(int32\\)$/",
	};
	const char *path = argc > 1 ? argv[1] : "build/apps/sc10/System.Private.CoreLib.dll";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct span bytes;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		perror(path);
		return 1;
	}
	bytes.size = (size_t)st.st_size;
	bytes.start = mmap(NULL, bytes.size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		double best = 0;
		size_t bodies = 0;

		for (int round = 0; round < ROUNDS; round++) {
			double ms = round_ms(bytes, patterns[i], &bodies);

			best = best == 0 || ms < best ? ms : best;
		}
		printf("%-42s %6zu bodies %8.2f ms\n", patterns[i], bodies, best);
	}
	return 0;
}
