/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "director/telemetry/telemetry_commands.h"
#include "director/telemetry/telemetry_reply.h"

#define RELOAD_TIMEOUT_MS 60000

/* DPDK gives its callbacks no argument, hence these variables. While the lock is held and the_director is not NULL,
 * both exist. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct director *the_director;
static struct control *the_control;

typedef int command_function(struct director *director, const char *parameters, struct rte_tel_data *data);

static int reply(command_function *function, const char *parameters, struct rte_tel_data *data)
{
	int error = -ESHUTDOWN;

	pthread_rwlock_rdlock(&lock);
	if (the_director)
		error = function(the_director, parameters, data);
	pthread_rwlock_unlock(&lock);
	return error;
}

static int reload(struct director *director __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	struct control_outcome outcome;
	char text[32];

	if (parameters && strcmp(parameters, "force") != 0) {
		rte_tel_data_start_dict(data);
		rte_tel_data_add_dict_int(data, "ok", 0);
		rte_tel_data_add_dict_string(data, "error", "expected no parameters, or force");
		return 0;
	}
	if (!control_reload(the_control, parameters, RELOAD_TIMEOUT_MS, &outcome)) {
		rte_tel_data_start_dict(data);
		rte_tel_data_add_dict_int(data, "ok", 0);
		rte_tel_data_add_dict_string(data, "error",
			"the reload did not finish: the director is stopping, or the reload takes more than 60 seconds");
		return 0;
	}
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_int(data, "ok", outcome.error[0] == '\0');
	rte_tel_data_add_dict_uint(data, "generation", outcome.generation);
	snprintf(text, sizeof(text), "%016" PRIx64, outcome.digest);
	rte_tel_data_add_dict_string(data, "digest", text);
	if (outcome.error[0])
		telemetry_reply_text(data, "error", outcome.error);
	return 0;
}

static int on_stats(const char *command __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	return reply(telemetry_stats, parameters, data);
}

static int on_tables(const char *command __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	return reply(telemetry_tables, parameters, data);
}

static int on_next_hops(const char *command __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	return reply(telemetry_next_hops, parameters, data);
}

static int on_lookup(const char *command __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	return reply(telemetry_lookup, parameters, data);
}

static int on_health(const char *command __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	return reply(telemetry_health, parameters, data);
}

static int on_underlay(const char *command __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	return reply(telemetry_underlay, parameters, data);
}

static int on_reload(const char *command __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	return reply(reload, parameters, data);
}

int telemetry_open(struct director *director, struct control *control)
{
	static const struct {
		const char *name;
		telemetry_cb function;
		const char *help;
	} commands[] = {
		{"/glb/stats", on_stats,
			"Returns the director's state and all counters, summed and per lcore. No parameters"},
		{"/glb/health", on_health, "Returns whether the director can forward, and what is wrong. No parameters"},
		{"/glb/tables", on_tables,
			"Returns the tables in use. Parameters: none or ,FIRST for a list; INDEX[,FIRST] for binds and backends of one table"},
		{"/glb/next_hops", on_next_hops,
			"Returns the next hops of the backends. Parameters: none for a list of sets; SET[,FIRST] for the next hops of one set"},
		{"/glb/underlay", on_underlay,
			"Returns which routers cannot forward packets of outbound_mtu to the proxies. No parameters"},
		{"/glb/lookup", on_lookup,
			"Returns where a packet would go. Parameters: SRC,SPORT,DST,DPORT,tcp|udp|icmp"},
		{"/glb/reload", on_reload,
			"Reloads the forwarding table and returns the outcome. Parameters: none; force: any valid table"},
	};
	int error = 0;

	pthread_rwlock_wrlock(&lock);
	the_director = director;
	the_control = control;
	pthread_rwlock_unlock(&lock);
	for (unsigned i = 0; i < RTE_DIM(commands) && !error; i++)
		error = rte_telemetry_register_cmd(commands[i].name, commands[i].function, commands[i].help);
	return error;
}

void telemetry_close(void)
{
	pthread_rwlock_wrlock(&lock);
	the_director = NULL;
	pthread_rwlock_unlock(&lock);
}
