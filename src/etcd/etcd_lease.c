/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "common/clock.h"
#include "common/container_of.h"
#include "etcd/etcd_core.h"

#define RETRY_MS 1000

struct etcd_lease {
	struct etcd *etcd;
	struct etcd_task task;
	struct etcd_call *call; /* NULL: none runs */
	unsigned ttl_s;
	uint64_t id; /* 0: none */
	uint64_t sent_ms; /* when the request that runs was sent */
	uint64_t until_ms; /* the lease lives at least until then: counted from a time before etcd's */
};

static json_t *id_request(const struct etcd_lease *lease)
{
	return json_pack("{s:I}", "ID", (json_int_t)lease->id);
}

/* The lease lives on for this time, in seconds. */
static void renew(struct etcd_lease *lease, uint64_t ttl_s)
{
	ttl_s = ttl_s > 3600 ? 3600 : ttl_s;
	lease->until_ms = lease->sent_ms + ttl_s * 1000;
	lease->task.due_ms = clock_now_ms() + ttl_s * 1000 / 3;
}

static void retry(struct etcd_lease *lease)
{
	lease->task.due_ms = clock_now_ms() + RETRY_MS;
}

static void take_grant(void *data, enum etcd_result result, const json_t *body)
{
	struct etcd_lease *lease = data;
	uint64_t ttl_s = etcd_number(body, "TTL");

	lease->call = NULL;
	lease->id = etcd_number(body, "ID");
	if (result != ETCD_DONE || !lease->id || !ttl_s) {
		lease->id = 0;
		retry(lease);
		return;
	}
	renew(lease, ttl_s);
}

/* The reply is the first line of a stream. It has no TTL if the lease has ended. */
static void take_keepalive(void *data, enum etcd_result result, const json_t *body)
{
	struct etcd_lease *lease = data;
	const json_t *line = json_object_get(body, "result");
	uint64_t ttl_s = etcd_number(line, "TTL");

	lease->call = NULL;
	if (result == ETCD_DONE && line && ttl_s) {
		renew(lease, ttl_s);
	} else if (result == ETCD_DONE && line) {
		lease->id = 0;
		lease->task.due_ms = clock_now_ms();
	} else {
		retry(lease);
	}
}

static void run(struct etcd_task *task)
{
	struct etcd_lease *lease = container_of(task, struct etcd_lease, task);

	task->due_ms = ETCD_NEVER;
	lease->sent_ms = clock_now_ms();
	lease->id = etcd_lease_id(lease);
	if (lease->id)
		lease->call = etcd_call_start(
			lease->etcd, "/v3/lease/keepalive", id_request(lease), NULL, take_keepalive, lease);
	else
		lease->call = etcd_call_start(lease->etcd, "/v3/lease/grant",
			json_pack("{s:I}", "TTL", (json_int_t)lease->ttl_s), NULL, take_grant, lease);
	if (!lease->call)
		retry(lease);
}

struct etcd_lease *etcd_lease_open(struct etcd *etcd, unsigned ttl_s)
{
	struct etcd_lease *lease = calloc(1, sizeof(*lease));

	if (!lease)
		return NULL;
	*lease = (struct etcd_lease){.etcd = etcd, .task = {.run = run}, .ttl_s = ttl_s};
	etcd_task_add(etcd, &lease->task);
	return lease;
}

uint64_t etcd_lease_id(const struct etcd_lease *lease)
{
	return lease->id && clock_now_ms() < lease->until_ms ? lease->id : 0;
}

static void take_revocation(void *data, enum etcd_result result, const json_t *body)
{
	(void)result;
	(void)body;
	*(bool *)data = true;
}

void etcd_lease_end(struct etcd_lease *lease)
{
	struct etcd *etcd = lease->etcd;
	uint64_t end = clock_now_ms() + etcd->conf->timeout_ms;
	bool ended = false;

	etcd_call_cancel(lease->call);
	etcd_task_remove(etcd, &lease->task);
	lease->call =
		lease->id ? etcd_call_start(etcd, "/v3/lease/revoke", id_request(lease), NULL, take_revocation, &ended)
			  : NULL;
	while (lease->call && !ended && clock_now_ms() < end)
		etcd_run(etcd, -1, (int)(end - clock_now_ms()));
	if (!ended)
		etcd_call_cancel(lease->call);
	free(lease);
}
