/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "healthcheck/checks/http/http_worker.h"

struct scene {
	struct http_workers workers;
	struct http_worker worker;
	int listener;
};

static void on_ended(struct http_worker *worker)
{
	(void)worker;
}

static int setup(void **state)
{
	static struct scene scene;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(to);
	char url[64];

	scene = (struct scene){.workers.ended = on_ended};
	scene.listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(scene.listener, (struct sockaddr *)&to, size), 0);
	assert_int_equal(listen(scene.listener, 1), 0);
	assert_int_equal(getsockname(scene.listener, (struct sockaddr *)&to, &size), 0);
	assert_int_equal(http_workers_open(&scene.workers, ev_default_loop(EVFLAG_AUTO)), 0);
	assert_int_equal(http_worker_open(&scene.worker, &scene.workers), 0);
	http_worker_set(&scene.worker);
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/", ntohs(to.sin_port));
	curl_easy_setopt(scene.worker.easy, CURLOPT_URL, url);
	curl_easy_setopt(scene.worker.easy, CURLOPT_NOPROXY, "*");
	*state = &scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	assert_true(http_workers_close(&scene->workers));
	http_worker_close(&scene->worker);
	close(scene->listener);
	return 0;
}

static bool has_ended(struct http_workers *workers)
{
	bool ended;

	pthread_mutex_lock(&workers->lock);
	ended = workers->done;
	pthread_mutex_unlock(&workers->lock);
	return ended;
}

static unsigned count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* Else libcurl might use a connection to one proxy in the time of the next transfer, which may be to another one. */
static void test_transfer_leaves_no_descriptor(void **state)
{
	struct scene *scene = *state;
	unsigned before = count_descriptors();

	http_worker_run(&scene->worker);
	close(accept(scene->listener, NULL, NULL));
	while (!has_ended(&scene->workers))
		sched_yield();
	assert_int_equal(count_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_transfer_leaves_no_descriptor, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
