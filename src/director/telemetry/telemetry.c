/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "director/telemetry/telemetry_commands.h"
#include "director/telemetry/telemetry_reply.h"

#define RELOAD_TIMEOUT_MS 60000

/* DPDK gives its callbacks no argument, hence these variables. While the lock is held and the_director is not NULL,
 * both exist. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct director *the_director;
static struct control *the_control;

static int reload(struct director *director __rte_unused, const char *parameters, struct rte_tel_data *data)
{
	bool valid = !parameters || strcmp(parameters, "force") == 0;
	struct control_outcome outcome;
	bool done = valid && control_reload(the_control, parameters, RELOAD_TIMEOUT_MS, &outcome);

	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_int(data, "ok", done && outcome.error[0] == '\0');
	if (!done) {
		rte_tel_data_add_dict_string(data, "error",
			valid ? "the reload did not finish: the director is stopping, or the reload takes more than 60 seconds"
			      : "expected no parameters, or force");
		return 0;
	}
	rte_tel_data_add_dict_uint(data, "generation", outcome.generation);
	telemetry_reply_hex(data, "digest", outcome.digest);
	if (outcome.error[0])
		telemetry_reply_text(data, "error", outcome.error);
	return 0;
}

static const struct {
	const char *name;
	int (*reply)(struct director *director, const char *parameters, struct rte_tel_data *data);
	const char *help;
} commands[] = {
	{"/glb/stats", telemetry_stats,
		"Returns the director's state and all counters, summed and per lcore. No parameters"},
	{"/glb/health", telemetry_health, "Returns whether the director can forward, and what is wrong. No parameters"},
	{"/glb/tables", telemetry_tables,
		"Returns the tables in use. Parameters: none or ,FIRST for a list; INDEX[,FIRST] for binds and backends of one table"},
	{"/glb/next_hops", telemetry_next_hops,
		"Returns the next hops of the backends. Parameters: none for a list of sets; SET[,FIRST] for the next hops of one set"},
	{"/glb/underlay", telemetry_underlay,
		"Returns which routers cannot forward packets of outbound_mtu to the proxies. No parameters"},
	{"/glb/lookup", telemetry_lookup, "Returns where a packet would go. Parameters: SRC,SPORT,DST,DPORT,tcp|udp|icmp"},
	{"/glb/reload", reload,
		"Reloads the forwarding table and returns the outcome. Parameters: none; force: any valid table"},
};

static int on_command(const char *name, const char *parameters, struct rte_tel_data *data)
{
	int error = -ESHUTDOWN;

	pthread_rwlock_rdlock(&lock);
	for (unsigned i = 0; i < RTE_DIM(commands) && the_director; i++)
		if (strcmp(commands[i].name, name) == 0)
			error = commands[i].reply(the_director, parameters, data);
	pthread_rwlock_unlock(&lock);
	return error;
}

int telemetry_open(struct director *director, struct control *control)
{
	int error = 0;

	pthread_rwlock_wrlock(&lock);
	the_director = director;
	the_control = control;
	pthread_rwlock_unlock(&lock);
	for (unsigned i = 0; i < RTE_DIM(commands) && !error; i++)
		error = rte_telemetry_register_cmd(commands[i].name, on_command, commands[i].help);
	return error;
}

void telemetry_close(void)
{
	pthread_rwlock_wrlock(&lock);
	the_director = NULL;
	pthread_rwlock_unlock(&lock);
}
