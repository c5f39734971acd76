// SPDX-License-Identifier: GPL-2.0-or-later
/* How probes go: by two requests of the broker, before our own descriptors are closed and after. */
#include "probe/closing.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/request.h"

enum { CLOSERS = 16 };

struct closer {
	pthread_t thread;
	bool started;
	const int *fds;
	size_t first, count;
};

static void *close_some(void *argument)
{
	const struct closer *closer = argument;

	for (size_t i = closer->first; i < closer->count; i += CLOSERS)
		cleanup_close(&closer->fds[i]);
	return NULL;
}

void closing_side_by_side(const int *fds, size_t count)
{
	struct closer closers[CLOSERS];

	for (size_t i = 0; i < CLOSERS; i++) {
		closers[i] = (struct closer){ .fds = fds, .first = i, .count = count };
		if (i + 1 < CLOSERS && i + 1 < count)
			closers[i].started = pthread_create(&closers[i].thread, NULL, close_some,
							    &closers[i]) == 0;
		if (!closers[i].started)
			close_some(&closers[i]);
	}
	for (size_t i = 0; i < CLOSERS; i++) {
		if (closers[i].started)
			pthread_join(closers[i].thread, NULL);
	}
}

void closing_probes(const int *fds, size_t count)
{
	struct request_probes request = {
		.fds = (uint64_t)(uintptr_t)fds,
		.count = (uint32_t)count,
	};
	bool kept = count && request_make(REQUEST_KEEP_PROBES, &request.answer) &&
		    request.answer.result >= 0;

	closing_side_by_side(fds, count);
	request.kept = request.answer.result;
	if (kept)
		request_make(REQUEST_CLOSE_PROBES, &request.answer);
}
