// SPDX-License-Identifier: GPL-2.0-or-later
/* See opening.h: between session/, which begins it, and load.c, which goes on with it. */
#include "capture/opening.h"

#include <pthread.h>
#include <stdlib.h>

#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "probe/uprobes.h"

struct capture_opening {
	pthread_t thread;
	pthread_mutex_t waiting; /* a thread is joined once, whoever waits for it */
	bool running;
	bool has_multi;
	struct place_probe_bpf *bpf; /* NULL: it has been taken, or there is none */
};

static void *open_beside(void *arg)
{
	struct capture_opening *opening = arg;

	opening->has_multi = uprobe_multi_works();
	opening->bpf = place_probe_bpf__open();
	return NULL;
}

static void await(struct capture_opening *opening)
{
	pthread_mutex_lock(&opening->waiting);
	if (opening->running)
		pthread_join(opening->thread, NULL);
	opening->running = false;
	pthread_mutex_unlock(&opening->waiting);
}

struct capture_opening *capture_opening_begin(void)
{
	struct capture_opening *opening = calloc(1, sizeof(*opening));

	if (!opening)
		return NULL;
	pthread_mutex_init(&opening->waiting, NULL);
	opening->running = pthread_create(&opening->thread, NULL, open_beside, opening) == 0;
	if (opening->running)
		return opening;
	pthread_mutex_destroy(&opening->waiting);
	free(opening);
	return NULL;
}

struct place_probe_bpf *capture_opening_take(struct capture_opening *opening)
{
	struct place_probe_bpf *bpf = NULL;

	if (opening) {
		await(opening);
		bpf = opening->bpf;
		opening->bpf = NULL;
	}
	return bpf ? bpf : place_probe_bpf__open();
}

bool capture_opening_has_multi(struct capture_opening *opening)
{
	if (!opening)
		return uprobe_multi_works();
	await(opening);
	return opening->has_multi;
}

void capture_opening_destroy(struct capture_opening *opening)
{
	if (!opening)
		return;
	await(opening);
	place_probe_bpf__destroy(opening->bpf);
	pthread_mutex_destroy(&opening->waiting);
	free(opening);
}
