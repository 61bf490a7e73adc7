/* SPDX-License-Identifier: BSD-3-Clause */
/* glb-healthcheck: parses the arguments, reads the configuration, runs the event loop, and stops. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/text.h"
#include "healthcheck/checks/check_http.h"
#include "healthcheck/client/client.h"
#include "healthcheck/http/server.h"
#include "healthcheck/monitor/monitor.h"
#include "healthcheck/once.h"
#include "healthcheck/options.h"
#include "healthcheck/publish/output_lock.h"
#include "healthcheck/watch/watch.h"
#include "program/child.h"
#include "program/early_signals.h"
#include "program/log.h"
#include "program/not_configured.h"
#include "program/service.h"

/* File descriptors of a probe: its socket, and two with which libcurl wakes its thread. */
#define PROBE_DESCRIPTORS 3
/* File descriptors that are not for probes: transfers that end, tunnel sockets, epoll, inotify, files, the
 * HTTP server. */
#define OTHER_DESCRIPTORS 256

static struct conf conf;
static struct monitor monitor;
static struct server server;
static struct watch watch;

static void on_src_changed(void *)
{
	monitor_reload(&monitor, false);
}

static void on_sighup(struct ev_loop *, ev_signal *, int)
{
	service_reloading();
	check_http_reload_certificates(monitor.env.http);
	monitor_reload(&monitor, true);
	monitor.counters.signals++;
	if (monitor.ready)
		service_ready();
}

static void on_stop(struct ev_loop *loop, ev_signal *signal, int)
{
	log_info("stopped by signal %d", signal->signum);
	ev_break(loop, EVBREAK_ALL);
}

static void on_watchdog(struct ev_loop *, ev_timer *, int)
{
	service_alive();
}

static void on_ready(struct monitor *started)
{
	log_info("ready, %" PRIu32 " check%s", started->list.check_count, text_plural(started->list.check_count));
	service_ready();
}

/* Raises the limit of open files, because every probe may need a socket. */
static bool raise_descriptors(void)
{
	rlim_t wanted = PROBE_DESCRIPTORS * conf.max_concurrent + 2 * conf.max_commands + OTHER_DESCRIPTORS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return true;
	limit.rlim_cur = wanted;
	if (limit.rlim_cur <= limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return true;
	log_error("max_concurrent = %u needs %lu file descriptors, but only %lu are allowed: lower max_concurrent, or raise LimitNOFILE= (ulimit -Hn)",
		conf.max_concurrent, (unsigned long)wanted, (unsigned long)limit.rlim_max);
	return false;
}

static int open_all(struct ev_loop *loop, struct faults *faults)
{
	int error;

	faults->file = NULL;
	error = output_lock(&conf, faults);
	if (!error)
		error = monitor_open(&monitor, loop, &conf, NULL, faults);
	if (error)
		return error;
	monitor.on_ready = on_ready;
	if (conf.listen.has_port) {
		faults->file = NULL;
		error = server_open(&server, &monitor, faults);
	}
	if (!error && conf.watch) {
		error = watch_open(&watch, loop, conf.src, on_src_changed, NULL);
		if (error)
			faults_error(faults, "watch",
				"cannot watch the folder of src by inotify: %s; raise fs.inotify.max_user_instances, or set watch = false",
				strerror(-error));
	}
	return error;
}

static int serve(struct ev_loop *loop, struct faults *faults)
{
	ev_signal sighup, terminate, interrupt;
	ev_timer watchdog;
	uint64_t watchdog_us = service_watchdog_us();
	int error = open_all(loop, faults);

	if (!error) {
		ev_signal_init(&sighup, on_sighup, SIGHUP);
		ev_signal_init(&terminate, on_stop, SIGTERM);
		ev_signal_init(&interrupt, on_stop, SIGINT);
		ev_signal_start(loop, &sighup);
		ev_signal_start(loop, &terminate);
		ev_signal_start(loop, &interrupt);
		early_signals_unblock(); /* from here on the event loop handles them */
		if (watchdog_us) {
			double period_s = (double)watchdog_us / 3e6;

			ev_timer_init(&watchdog, on_watchdog, period_s, period_s);
			ev_timer_start(loop, &watchdog);
		}
		ev_run(loop, 0);
		service_stopping();
	}
	watch_close(&watch);
	server_close(&server);
	monitor_close(&monitor);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void stop_loop(struct monitor *finished)
{
	ev_break(finished->loop, EVBREAK_ALL);
}

static int check_once(struct ev_loop *loop, struct faults *faults)
{
	bool healthy = false;

	if (monitor_open(&monitor, loop, &conf, stop_loop, faults) == 0) {
		if (monitor.unfinished)
			ev_run(loop, 0);
		healthy = once_print(&monitor.list);
		if (fflush(stdout) != 0 || ferror(stdout)) {
			faults->file = NULL;
			faults_error(faults, NULL, "cannot write the results to stdout: %s", strerror(errno));
			healthy = false;
		}
	}
	monitor_close(&monitor);
	return healthy ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int ask_daemon(const struct options *options, struct faults *faults)
{
	int status = EXIT_FAILURE;

	if (conf_read_healthcheck(options->config_file, &conf, faults) == 0)
		status = options->reload ? client_reload(&conf) : client_run(&conf, options->json);
	log_faults(faults, FAULTS_ERRORS);
	conf_free(&conf);
	return status;
}

/* Says what to do if a file that the operator writes does not exist yet. */
static void explain_missing(const struct options *options, int status)
{
	if (status == EXIT_NOT_CONFIGURED)
		log_error("glb-healthcheck is not configured yet: glb-healthcheck.conf(5) has an example of this file");
	else if (conf.src && access(conf.src, F_OK) < 0 && errno == ENOENT)
		log_error("there is no table yet: glb-director-cli new --dir DIR writes a first one; src in %s names its path",
			options->config_file);
}

int main(int argc, char **argv)
{
	struct options options = options_parse(argc, argv);
	struct faults faults = {.file = options.config_file};
	struct ev_loop *loop;
	int error, status = EXIT_FAILURE;

	log_open("glb-healthcheck", options.debug);
	child_withhold_capability();
	signal(SIGPIPE, SIG_IGN);
	if (options.status || options.reload || options.check_once)
		early_signals_unblock();
	if (options.status || options.reload)
		return ask_daemon(&options, &faults);
	error = conf_read_healthcheck(options.config_file, &conf, &faults);
	if (error == -ENOENT && !options.check_once)
		status = EXIT_NOT_CONFIGURED;
	if (!error && raise_descriptors()) {
		log_faults(&faults, FAULTS_ALL);
		loop = ev_default_loop(EVFLAG_AUTO);
		if (!loop)
			faults_error(&faults, NULL, "cannot create the event loop: %s", strerror(errno));
		else
			status = options.check_once ? check_once(loop, &faults) : serve(loop, &faults);
	}
	log_faults(&faults, FAULTS_ALL);
	if (!options.check_once && status != EXIT_SUCCESS)
		explain_missing(&options, status);
	conf_free(&conf);
	return status;
}
