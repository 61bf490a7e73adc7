/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For fleet_scale.py: processes that do with etcd what glb-fleet does at rest, and nothing with the table. Each mirrors
 * the keys of the table and of the roll-out and its own record, which it puts under a lease. It prints a line
 * "NUMBER REVISION TIME" for each table that it gets; the time is that of CLOCK_MONOTONIC in nanoseconds.
 *
 *	fleet_watch PREFIX COUNT ENDPOINT...
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "etcd/etcd.h"

#define LEASE_S    15
#define TIMEOUT_MS 3000
#define KEY_MAX    256

struct watcher {
	struct etcd *etcd;
	unsigned number;
	char key[KEY_MAX]; /* of the record */
};

/* One write, so that lines of several processes do not mix. */
static void take_table(void *data, const struct etcd_kv *kv)
{
	const struct watcher *watcher = data;
	struct timespec now;
	char line[128];
	int size;

	clock_gettime(CLOCK_MONOTONIC, &now);
	size = snprintf(line, sizeof(line), "%u %" PRIu64 " %" PRId64 "\n", watcher->number, kv->mod_revision,
		(int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	if (write(STDOUT_FILENO, line, (size_t)size) != size)
		_exit(EXIT_FAILURE);
}

static void ignore_change(void *, const struct etcd_kv *)
{
}

static void ignore_ready(void *)
{
}

static void ignore_reply(void *, enum etcd_result, const json_t *)
{
}

/* Puts the record under each new lease. */
static void put_record(const struct watcher *watcher, uint64_t lease, uint64_t *last)
{
	if (!lease || lease == *last)
		return;
	*last = lease;
	etcd_request(watcher->etcd, ETCD_TXN,
		etcd_txn(json_array(), json_pack("[o]", etcd_put(watcher->key, "a record", lease))), ignore_reply, NULL);
}

static _Noreturn void watch(const struct etcd_conf *conf, const char *prefix, unsigned number)
{
	static const struct etcd_mirror_calls table_calls = {.changed = take_table, .ready = ignore_ready};
	static const struct etcd_mirror_calls calls = {.changed = ignore_change, .ready = ignore_ready};
	struct faults faults = {0};
	struct watcher watcher = {.etcd = etcd_open(conf, &faults), .number = number};
	struct etcd_lease *lease;
	uint64_t last = 0;
	char key[KEY_MAX];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!watcher.etcd)
		_exit(EXIT_FAILURE);
	snprintf(watcher.key, sizeof(watcher.key), "%s/directors/w%u", prefix, number);
	snprintf(key, sizeof(key), "%s/table", prefix);
	etcd_mirror_open(watcher.etcd, key, false, 1, &table_calls, &watcher);
	snprintf(key, sizeof(key), "%s/rollout", prefix);
	etcd_mirror_open(watcher.etcd, key, false, 1, &calls, NULL);
	etcd_mirror_open(watcher.etcd, watcher.key, false, 1, &calls, NULL);
	lease = etcd_lease_open(watcher.etcd, LEASE_S);
	for (;;) {
		etcd_run(watcher.etcd, -1, 1000);
		put_record(&watcher, etcd_lease_id(lease), &last);
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	struct etcd_conf conf = {.endpoints = argv + 3, .timeout_ms = TIMEOUT_MS};

	if (!count)
		return 2;
	for (unsigned i = 0; i < count; i++)
		if (fork() == 0)
			watch(&conf, argv[1], i);
	pause(); /* its end ends the others */
	return EXIT_SUCCESS;
}
