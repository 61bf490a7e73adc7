/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "dpdk_compat.h"
#include "worker.h"

static struct director *telemetry_director; /* DPDK 22.11 gives the callbacks no argument */

static void add_counters(struct rte_tel_data *data, const struct counters *counters)
{
	struct counters_value values[COUNTERS_VALUES];
	unsigned count = counters_list(counters, values);

	for (unsigned i = 0; i < count; i++)
		rte_tel_data_add_dict_uint(data, values[i].name, values[i].value);
}

static uint64_t uptime_seconds(const struct director *director)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - director->started_ns) /
	       1000000000;
}

static void add_state(struct rte_tel_data *data, struct director *director)
{
	struct reload *reload = &director->reload;
	uint64_t mac = __atomic_load_n(&director->gateway_mac, __ATOMIC_RELAXED);
	const uint8_t *bytes = (const uint8_t *)&mac;
	char text[32];

	rte_tel_data_add_dict_string(data, "version", GLB_VERSION);
	rte_tel_data_add_dict_uint(data, "uptime", uptime_seconds(director));
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2],
		bytes[3], bytes[4], bytes[5]);
	rte_tel_data_add_dict_string(data, "gateway_mac", mac ? text : "unknown");
	pthread_mutex_lock(&reload->lock);
	rte_tel_data_add_dict_uint(data, "generation", reload->live->generation);
	snprintf(text, sizeof(text), "%016" PRIx64, reload->live->routes->digest);
	rte_tel_data_add_dict_string(data, "digest", text);
	rte_tel_data_add_dict_uint(data, "reloads", reload->reloads);
	rte_tel_data_add_dict_uint(data, "reload_failures", reload->failures);
	rte_tel_data_add_dict_string(data, "last_error", reload->last_error);
	pthread_mutex_unlock(&reload->lock);
}

static int answer_stats(const char *command __rte_unused, const char *parameters __rte_unused,
	struct rte_tel_data *data)
{
	struct director *director = telemetry_director;
	struct rte_tel_data *lcores = rte_tel_data_alloc();
	struct counters sum;

	if (!lcores)
		return -ENOMEM;
	rte_tel_data_start_dict(data);
	worker_sum(director, &sum);
	add_counters(data, &sum);
	add_state(data, director);
	rte_tel_data_start_dict(lcores);
	for (uint16_t i = 0; i < director->worker_count; i++) {
		const struct worker *worker = director->workers[i];
		struct rte_tel_data *lcore = rte_tel_data_alloc();
		struct counters counters = {0};
		char name[16];

		if (!lcore)
			break;
		rte_tel_data_start_dict(lcore);
		counters_sum(&counters, &worker->counters);
		add_counters(lcore, &counters);
		snprintf(name, sizeof(name), "%u", worker->lcore);
		rte_tel_data_add_dict_container(lcores, name, lcore, 0);
	}
	return rte_tel_data_add_dict_container(data, "lcores", lcores, 0);
}

int telemetry_register(struct director *director)
{
	telemetry_director = director;
	return rte_telemetry_register_cmd("/glb/stats", answer_stats,
		"Returns all counters, summed and of each lcore, and the state of the table. No "
		"parameters");
}
