/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-director: starts everything, runs the workers, and cleans up. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "common/clock.h"
#include "director/bifurcation.h"
#include "director/capture/capture.h"
#include "director/control/control.h"
#include "director/http/http_thread.h"
#include "director/isa/isa_start.h"
#include "director/ports/port_watch.h"
#include "director/startup.h"
#include "director/telemetry/telemetry.h"
#include "director/workers.h"
#include "program/early_signals.h"
#include "program/installed.h"
#include "program/log.h"
#include "program/not_configured.h"
#include "worker/worker.h"

static struct director director = {
	.ports = {.conf = &director.conf, .shared = &director.shared, .wake = -1},
	.watch =
		{
			.conf = &director.conf,
			.ports = &director.ports,
			.workers = &director.workers,
			.nexthop = &director.nexthop,
			.reload = &director.reload,
			.underlay = &director.underlay,
		},
};

static int open_table(void)
{
	struct faults faults = {0};
	int error = reload_open(&director.reload, &director.shared, director.options.forwarding_table, &director.conf,
		PLAN_MAX_LCORES, &faults);

	if (error)
		log_faults(&faults, FAULTS_ALL);
	if (error && access(director.options.forwarding_table, F_OK) < 0 && errno == ENOENT)
		log_error("there is no forwarding table yet: start glb-healthcheck, or run glb-director-cli build-config %s %s",
			INSTALLED_TABLE_SOURCE, director.options.forwarding_table);
	faults_clear(&faults);
	director.reload.max_shrink = director.conf.max_shrink;
	return error;
}

static void print_counters(void)
{
	struct counters sum;

	workers_sum(&director.workers, &sum);
	for (const struct fact *fact = counters_facts; fact->key; fact++)
		printf("%-27s %20" PRIu64 "\n", fact->key, facts_number(fact, &sum));
	fflush(stdout);
}

/* Starts the workers and waits for the end. If the main lcore is the only one, it works itself. */
static void run_workers(struct control *control, struct http_thread *http)
{
	struct worker *own = NULL;

	director.drain.workers = director.workers.count;
	director.shared.drain = &director.drain;
	for (uint16_t i = 0; i < director.workers.count; i++) {
		struct worker *worker = director.workers.list[i];

		if (worker->lcore == rte_get_main_lcore())
			own = worker;
		else
			rte_eal_remote_launch(worker_run, worker, worker->lcore);
	}
	if (own)
		worker_run(own);
	control_wait(control);
	http_thread_stop(http);
	telemetry_close();
	capture_close(director.capture);
	control_free(control);
	rte_eal_mp_wait_lcore(); /* last, because it spins */
}

static int serve(const cpu_set_t *cpus)
{
	struct control *control;
	int error;

	if (isa_start(director.conf.isa, &director.isa) || open_table() || startup_ports(&director) ||
		workers_create(&director))
		return -EINVAL;
	bifurcation_follow(&director);
	director_lint_table(&director);
	director.started_ns = clock_now_ns();
	director.started = (uint64_t)time(NULL);
	underlay_report_open(&director.underlay);
	control = control_start(&director, cpus);
	if (!control)
		return -EINVAL;
	director.capture =
		capture_open((struct capture_sources){&director.ports, &director.workers, &director.reload}, cpus);
	error = telemetry_open(&director, control);
	if (error)
		log_warning("telemetry is not available: %s", strerror(-error));
	run_workers(control, http_thread_start(&director, cpus));
	print_counters();
	return 0;
}

static void close_port(struct port *port)
{
	struct port_watch watch;

	port_watch_begin(&watch, PORT_WATCH_STOP, port, -1);
	port_close(port);
	port_watch_end(&watch);
}

static void close_ports(void)
{
	port_recovery_close(&director.ports);
	for (uint16_t i = 0; i < director.ports.exception_count; i++)
		if (director.ports.exceptions[i].rx_queues)
			close_port(&director.ports.exceptions[i]);
	for (uint16_t i = 0; i < director.ports.count; i++)
		if (director.ports.list[i].info.device)
			close_port(&director.ports.list[i]);
}

static void close_eal(void)
{
	struct port_watch watch;

	port_watch_begin(&watch, PORT_WATCH_STOP, NULL, -1);
	rte_eal_cleanup();
	port_watch_end(&watch);
}

int main(int argc, char **argv)
{
	cpu_set_t cpus;
	int error;

	director.options = options_parse(argc, argv);
	log_open("glb-director", director.options.debug);
	control_block_signals();
	/* The kernel ends children that process 1 of a container gets; the director starts none */
	signal(SIGCHLD, SIG_IGN);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	error = startup_conf(&director);
	if (error == -ENOENT) {
		log_error("the director is not configured yet: glb-director-cli new --dir DIR writes a first director.conf; read " INSTALLED_PAGES
			  "/howto/first-director.md");
		return EXIT_NOT_CONFIGURED;
	}
	if (error || startup_eal(argc, argv))
		return EXIT_FAILURE;
	error = serve(startup_control_cpus(&cpus));
	close_ports();
	workers_free(&director.workers);
	reload_close(&director.reload);
	close_eal();
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
