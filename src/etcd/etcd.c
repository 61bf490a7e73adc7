/* SPDX-License-Identifier: BSD-3-Clause */
#include "etcd/etcd.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curl/curl.h>

#include "common/clock.h"
#include "common/text.h"
#include "etcd/etcd_core.h"

static void check_file(const char *path, struct faults *faults)
{
	if (path && access(path, R_OK) != 0)
		faults_error(faults, NULL, "%s: %m; etcd cannot be reached without this file", path);
}

struct etcd *etcd_open(const struct etcd_conf *conf, struct faults *faults)
{
	size_t errors = faults->errors;
	struct etcd *etcd;

	check_file(conf->ca_file, faults);
	check_file(conf->cert_file, faults);
	check_file(conf->key_file, faults);
	check_file(conf->password_file, faults);
	if (!conf->endpoints || !conf->endpoints[0])
		faults_error(faults, NULL, "there is no endpoint of etcd");
	if (faults->errors != errors)
		return NULL;
	etcd = calloc(1, sizeof(*etcd));
	if (!etcd || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(etcd->multi = curl_multi_init())) {
		faults_error(faults, NULL, "libcurl cannot start: out of memory");
		free(etcd);
		return NULL;
	}
	etcd->conf = conf;
	while (conf->endpoints[etcd->endpoint_count])
		etcd->endpoint_count++;
	etcd->endpoint = conf->first % etcd->endpoint_count;
	etcd->state.endpoint = conf->endpoints[etcd->endpoint];
	etcd->state.since_ms = clock_now_ms();
	return etcd;
}

void etcd_close(struct etcd *etcd)
{
	while (etcd->calls)
		etcd_call_cancel(etcd->calls);
	curl_multi_cleanup(etcd->multi);
	curl_global_cleanup();
	free(etcd->token);
	free(etcd);
}

const struct etcd_state *etcd_state(const struct etcd *etcd)
{
	return &etcd->state;
}

void etcd_say(struct etcd *etcd, size_t endpoint, const char *format, ...)
{
	char *error = etcd->state.error;
	int length = snprintf(error, ETCD_ERROR_MAX, "%.200s: ", etcd->conf->endpoints[endpoint]);
	va_list args;

	va_start(args, format);
	vsnprintf(error + length, ETCD_ERROR_MAX - (size_t)length, format, args);
	va_end(args);
	text_mend(error);
}

void etcd_set_connected(struct etcd *etcd, bool connected)
{
	if (etcd->state.connected != connected)
		etcd->state.since_ms = clock_now_ms();
	etcd->state.connected = connected;
}

void etcd_leave_endpoint(struct etcd *etcd, size_t failed)
{
	if (etcd->endpoint == failed)
		etcd->endpoint = (failed + 1) % etcd->endpoint_count;
	etcd->state.endpoint = etcd->conf->endpoints[etcd->endpoint];
}

void etcd_task_add(struct etcd *etcd, struct etcd_task *task)
{
	task->next = etcd->tasks;
	etcd->tasks = task;
}

void etcd_task_remove(struct etcd *etcd, struct etcd_task *task)
{
	struct etcd_task **at = &etcd->tasks;

	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
}

/* Runs the tasks that are due. Returns when the next one is due, or `end`. */
static uint64_t run_tasks(struct etcd *etcd, uint64_t end)
{
	for (struct etcd_task *task = etcd->tasks; task; task = task->next) {
		if (task->due_ms <= clock_now_ms())
			task->run(task);
		end = task->due_ms < end ? task->due_ms : end;
	}
	return end;
}

void etcd_run(struct etcd *etcd, int fd, int timeout_ms)
{
	uint64_t end = clock_now_ms() + (timeout_ms > 0 ? (unsigned)timeout_ms : 0), deliveries = etcd->deliveries;
	struct curl_waitfd wake = {.fd = fd, .events = CURL_WAIT_POLLIN};

	do {
		uint64_t until = run_tasks(etcd, end), now;

		while (etcd->deliveries == deliveries && etcd_call_deliver(etcd))
			;
		if (etcd->deliveries != deliveries)
			return;
		now = clock_now_ms();
		curl_multi_poll(etcd->multi, &wake, fd >= 0, until > now ? (int)(until - now) : 0, NULL);
	} while (!(wake.revents & CURL_WAIT_POLLIN) && clock_now_ms() < end);
}

void etcd_request(struct etcd *etcd, const char *path, json_t *request, etcd_reply *reply, void *data)
{
	etcd_call_start(etcd, path, request, NULL, reply, data);
}

struct asked {
	bool replied;
	enum etcd_result result;
	json_t *body;
};

static void take_reply(void *data, enum etcd_result result, const json_t *body)
{
	*(struct asked *)data = (struct asked){true, result, json_incref((json_t *)body)};
}

enum etcd_result etcd_ask(struct etcd *etcd, const char *path, json_t *request, json_t **body)
{
	struct asked asked = {0};

	if (!etcd_call_start(etcd, path, request, NULL, take_reply, &asked))
		asked = (struct asked){true, ETCD_UNREACHABLE, NULL};
	while (!asked.replied)
		etcd_run(etcd, -1, 1000);
	*body = asked.body;
	return asked.result;
}
