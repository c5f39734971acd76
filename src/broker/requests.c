// SPDX-License-Identifier: GPL-2.0-or-later
/* What is asked of the broker by name (base/request.h), beside system calls. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/request.h"
#include "broker/broker_internal.h"
#include "inject/inject.h"
#include "probe/breakpoint_event.h"
#include "probe/closing.h"
#include "probe/programs.h"
#include "probe/uprobes.h"

enum {
	CONSTANTS_MAX_BYTES = 1 << 16,
	PUBLISH_MAX_BYTES = 1 << 28,
	BATCHES = 64, /* more than threads ask at a time */
	PROBES_MAX = 1 << 16,
};

_Static_assert((int)REQUEST_WORDS >= (int)BREAKPOINT_USERS_BYTES, "who has debug registers");

/* Programs ------------------------------------------------------------------------------------ */

/* Those that could not be handed over are not there. */
static int give(const struct broker *broker, const struct seccomp_notif *call, int fd)
{
	return fd < 0 ? -1 : served_give(broker, call, fd);
}

static int give_all(const struct broker *broker, const struct seccomp_notif *call,
		    const struct programs_loaded *loaded, struct request_load *request)
{
	const struct bpf_object *object = *loaded->skeleton->obj;
	struct bpf_program *program;
	struct bpf_map *map;
	int result = 0;
	size_t i = 0;

	bpf_object__for_each_map(map, object)
	{
		request->maps[i].fd = give(broker, call, bpf_map__fd(map));
		result = bpf_map__fd(map) >= 0 && request->maps[i].fd < 0 ? -EMFILE : result;
		i++;
	}
	i = 0;
	bpf_object__for_each_program(program, object)
	{
		int fd = bpf_program__autoload(program) ? bpf_program__fd(program) : -1;

		request->programs[i].fd = give(broker, call, fd);
		result = fd >= 0 && request->programs[i].fd < 0 ? -EMFILE : result;
		i++;
	}
	return result;
}

static int load(const struct broker *broker, const struct seccomp_notif *call,
		struct request_load *request)
{
	_cleanup_free_ void *constants = NULL;
	struct programs_loaded loaded = { 0 };
	int result;

	if (request->map_count > REQUEST_MAPS || request->program_count > REQUEST_PROGRAMS ||
	    request->constants_bytes > CONSTANTS_MAX_BYTES)
		return -EINVAL;
	constants = malloc(request->constants_bytes + 1);
	if (!constants)
		return -ENOMEM;
	if (served_read(broker, request->constants, constants, request->constants_bytes))
		return -EFAULT;
	result = programs_load_for(&loaded, request, constants,
				   request->ourselves ? &broker->served : &broker->target);
	if (result)
		return result;
	result = give_all(broker, call, &loaded, request);
	programs_unload(&loaded);
	return result;
}

static int answer_load(const struct broker *broker, const struct seccomp_notif *call, uint64_t at)
{
	struct request_load request;

	if (served_read(broker, at, &request, sizeof(request)))
		return -EFAULT;
	request.answer.result = load(broker, call, &request);
	return served_write(broker, at, &request, sizeof(request));
}

/* Probes that go ------------------------------------------------------------------------------ */

/*
 * Whoever is served has copies of them kept here, closes its own, and has those closed, which are
 * the last (probe/closing.h). If it ends in between they go with the broker.
 */
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

static int answer_keep(const struct broker *broker, uint64_t at)
{
	struct request_probes request;

	if (served_read(broker, at, &request, sizeof(request)))
		return -EFAULT;
	request.answer.result = keep(broker, &request);
	return served_write(broker, at, &request, sizeof(request));
}

static int answer_close(const struct broker *broker, uint64_t at)
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

/* Others -------------------------------------------------------------------------------------- */

static int answer_multi(const struct broker *broker, uint64_t at)
{
	const struct request_answer answer = { .result = uprobe_multi_works() };

	return served_write(broker, at, &answer, sizeof(answer));
}

static int answer_injector(const struct broker *broker, const struct seccomp_notif *call,
			   uint64_t at)
{
	struct request_injector request = { .channel_fd = -1 };
	_cleanup_close_ int channel_fd = -1;

	request.answer.result = injector_start(broker->target.proc_fd, broker->served.pidfd,
					       &channel_fd, &request.why);
	if (request.answer.result > 0)
		request.channel_fd = give(broker, call, channel_fd);
	return served_write(broker, at, &request, sizeof(request));
}

static int answer_users(const struct broker *broker, uint64_t at)
{
	struct request_users request;

	if (served_read(broker, at, &request, sizeof(request)))
		return -EFAULT;
	if (request.tid && !broker_has_thread(&broker->target, request.tid))
		return -EPERM;
	breakpoint_users_tell(request.ours, request.tid, request.words);
	request.answer.result = 0;
	return served_write(broker, at, &request, sizeof(request));
}

static int publish(const struct broker *broker, const struct request_publish *request)
{
	_cleanup_free_ char *bytes = NULL;

	if (!broker->config.publish_path)
		return -EPERM;
	if (request->length > PUBLISH_MAX_BYTES)
		return -EFBIG;
	bytes = malloc(request->length + 1);
	if (!bytes)
		return -ENOMEM;
	if (served_read(broker, request->bytes, bytes, request->length))
		return -EFAULT;
	bytes[request->length] = '\0';
	return broker->config.publish(broker->config.publish_path, bytes, request->length);
}

static int answer_publish(const struct broker *broker, uint64_t at)
{
	struct request_publish request;

	if (served_read(broker, at, &request, sizeof(request)))
		return -EFAULT;
	request.answer.result = publish(broker, &request);
	return served_write(broker, at, &request, sizeof(request));
}

void answer_request(const struct broker *broker, const struct seccomp_notif *call,
		    struct reply *reply)
{
	uint64_t at = call->data.args[1];

	switch ((enum request_kind)call->data.args[0]) {
	case REQUEST_LOAD:
		reply->error = answer_load(broker, call, at);
		break;
	case REQUEST_TRY_MULTI:
		reply->error = answer_multi(broker, at);
		break;
	case REQUEST_INJECTOR:
		reply->error = answer_injector(broker, call, at);
		break;
	case REQUEST_USERS:
		reply->error = answer_users(broker, at);
		break;
	case REQUEST_PUBLISH:
		reply->error = answer_publish(broker, at);
		break;
	case REQUEST_KEEP_PROBES:
		reply->error = answer_keep(broker, at);
		break;
	case REQUEST_CLOSE_PROBES:
		reply->error = answer_close(broker, at);
		break;
	case REQUEST_END:
	default:
		reply->error = -EPERM;
		break;
	}
}

/* Only its own children, which it has not waited for yet, so the number is theirs. */
void answer_kill(const struct broker *broker, const struct seccomp_notif *call, struct reply *reply)
{
	pid_t pid = (pid_t)call->data.args[0];
	int number = (int)call->data.args[1];

	reply->error = -EPERM;
	for (size_t i = 0; i < BROKER_CHILDREN && pid > 0 && number == SIGKILL; i++) {
		if (broker->config.children[i] == pid)
			reply->error = kill(pid, number) ? -errno : 0;
	}
}
