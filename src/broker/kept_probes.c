// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes that go (probe/closing.h): whoever is served has copies of them kept here, closes its own,
 * and has those closed, which are the last. If it ends in between they go with the broker.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/request.h"
#include "broker/broker_internal.h"
#include "probe/closing.h"

enum {
	BATCHES = 64, /* more than threads ask at a time */
	PROBES_MAX = 1 << 16,
};

struct kept_probes {
	pthread_mutex_t mutex;
	struct batch {
		int *fds; /* NULL: none */
		size_t count;
	} batches[BATCHES];
};

struct kept_probes *kept_probes_create(void)
{
	struct kept_probes *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	pthread_mutex_init(&kept->mutex, NULL);
	return kept;
}

/* Copies in place of the served process's numbers; 0, or -errno with none left. */
static int take_copies(const struct broker *broker, int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int copy = fds[i] < 0 ? -1 : served_descriptor(broker, fds[i]);

		if (fds[i] >= 0 && copy < 0) {
			closing_side_by_side(fds, i);
			return copy;
		}
		fds[i] = copy;
	}
	return 0;
}

/* The number of a batch that was free; -EBUSY. */
static int add_batch(struct kept_probes *kept, int *fds, size_t count)
{
	int number = -EBUSY;

	pthread_mutex_lock(&kept->mutex);
	for (int i = 0; i < BATCHES && number < 0; i++) {
		if (kept->batches[i].fds)
			continue;
		kept->batches[i] = (struct batch){ fds, count };
		number = i;
	}
	pthread_mutex_unlock(&kept->mutex);
	return number;
}

static struct batch take_batch(struct kept_probes *kept, int number)
{
	struct batch batch = { 0 };

	if (number < 0 || number >= BATCHES)
		return batch;
	pthread_mutex_lock(&kept->mutex);
	batch = kept->batches[number];
	kept->batches[number] = (struct batch){ 0 };
	pthread_mutex_unlock(&kept->mutex);
	return batch;
}

static int keep(const struct broker *broker, const struct request_probes *request)
{
	_cleanup_free_ int *fds = NULL;
	size_t count = request->count;
	int result;

	if (count > PROBES_MAX)
		return -E2BIG;
	fds = calloc(count + 1, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	result = served_read(broker, request->fds, fds, count * sizeof(*fds));
	if (result == 0)
		result = take_copies(broker, fds, count);
	if (result)
		return result;
	result = add_batch(broker->kept, fds, count);
	if (result < 0)
		closing_side_by_side(fds, count);
	else
		fds = NULL;
	return result;
}

int kept_probes_keep(const struct broker *broker, uint64_t at)
{
	struct request_probes request;

	if (served_read(broker, at, &request, sizeof(request)))
		return -EFAULT;
	request.answer.result = keep(broker, &request);
	return served_write(broker, at, &request, sizeof(request));
}

int kept_probes_close(const struct broker *broker, uint64_t at)
{
	struct request_probes request;
	_cleanup_free_ int *fds = NULL;
	struct batch batch;

	if (served_read(broker, at, &request, sizeof(request)))
		return -EFAULT;
	batch = take_batch(broker->kept, request.kept);
	fds = batch.fds;
	closing_side_by_side(fds, batch.count);
	request.answer.result = 0;
	return served_write(broker, at, &request, sizeof(request));
}
