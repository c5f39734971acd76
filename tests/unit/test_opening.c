// SPDX-License-Identifier: GPL-2.0-or-later
/* What loading begins with may be asked for by several threads at once. Needs root. */
#include "tests/unit/unit.h"

#include <bpf/libbpf.h>
#include <pthread.h>

#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/capture.h"
#include "probe/uprobes.h"

enum { TURNS = 20, THREADS = 4 };

struct asker {
	struct capture_opening *opening;
	pthread_barrier_t *all;
	bool answer;
};

static void *ask(void *arg)
{
	struct asker *asker = arg;

	pthread_barrier_wait(asker->all);
	asker->answer = capture_opening_has_multi(asker->opening);
	return NULL;
}

UNIT_TEST(all_wait_for_the_answer)
{
	bool works = uprobe_multi_works();

	for (int turn = 0; turn < TURNS; turn++) {
		struct capture_opening *opening = capture_opening_begin();
		struct asker askers[THREADS];
		pthread_t threads[THREADS];
		struct place_probe_bpf *bpf;
		pthread_barrier_t all;

		assert_non_null(opening);
		assert_int_equal(pthread_barrier_init(&all, NULL, THREADS), 0);
		for (int i = 0; i < THREADS; i++) {
			askers[i] = (struct asker){ .opening = opening, .all = &all };
			assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
		}
		for (int i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			assert_int_equal(askers[i].answer, works);
		}
		pthread_barrier_destroy(&all);
		bpf = capture_opening_take(opening);
		assert_non_null(bpf);
		place_probe_bpf__destroy(bpf);
		capture_opening_destroy(opening);
	}
}

int main(void)
{
	unit_needs_root("set uprobes");
	libbpf_set_print(NULL);
	return unit_run(NULL, NULL);
}
