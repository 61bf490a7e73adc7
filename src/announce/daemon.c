/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/daemon.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "announce/actions.h"
#include "announce/round.h"
#include "announce/status.h"
#include "common/clock.h"
#include "program/log.h"
#include "program/service.h"

static volatile sig_atomic_t stop_signal, reload_signal;

static void on_stop(int number)
{
	stop_signal = number;
}

static void on_reload(int number)
{
	reload_signal = number;
}

/* Tells the service manager and the status file. */
static void report(struct daemon *daemon)
{
	static char last[1024];
	char line[1024];

	status_line(daemon, line, sizeof(line));
	if (strcmp(line, last) != 0) {
		service_status(line);
		strcpy(last, line);
		daemon->changed = true;
	}
	if (daemon->changed)
		daemon->changed = !status_write(daemon);
}

#define ALIVE_MS 5000u /* less than half of WatchdogSec= in the unit */

/* Waits for this time, for a signal, or for the end of the director. Returns false after the time. */
static bool wait_ms(int director, uint64_t ms)
{
	struct pollfd fd = {.fd = director, .events = POLLIN};
	struct timespec timeout = clock_timespec(ms * 1000);
	sigset_t none;

	sigemptyset(&none);
	return ppoll(&fd, 1, &timeout, &none) != 0;
}

/* Signals arrive only in ppoll(), and no round waits if it took longer than the interval, or if the director's socket
 * is readable. */
static bool must_stop(void)
{
	wait_ms(-1, 0);
	return stop_signal;
}

static void wait_until(const struct daemon *daemon, uint64_t next_ms)
{
	uint64_t now;

	service_alive();
	while ((now = clock_now_ms()) < next_ms) {
		if (wait_ms(daemon->director.socket.fd, next_ms - now < ALIVE_MS ? next_ms - now : ALIVE_MS))
			return;
		service_alive();
	}
}

/* The lock is on the status file. Other commands may not withdraw what the old ones have announced. */
static void refuse_changes(const struct settings *from, const struct settings *to, struct faults *faults)
{
	faults->file = NULL;
	if (strcmp(to->conf.status_file, from->conf.status_file) != 0)
		faults_error(faults, NULL, "status_file has changed: restart glb-announce");
	if (!driver_conf_is_same(&from->driver, &to->driver))
		faults_error(faults, to->conf.driver,
			"announces or withdraws in another way than before: restart glb-announce, which first withdraws in the old way");
}

/* For `glb-announce release`, in case that the configuration has errors when this process is killed. */
static void keep_settings(const struct daemon *daemon)
{
	struct faults faults = {0};

	settings_keep(daemon->path, &daemon->settings, &faults);
	if (faults.errors)
		log_warning("%s; if announce.conf has errors when glb-announce is killed, its VIPs stay announced",
			faults_first_error(&faults));
	faults_clear(&faults);
}

/* Reads the configuration again. One with errors changes nothing. */
static void reload(struct daemon *daemon)
{
	struct faults faults = {0};
	struct settings settings;
	struct probe probe;
	int error;

	service_reloading();
	error = settings_read(daemon->path, &settings, &faults);
	if (!error)
		refuse_changes(&daemon->settings, &settings, &faults);
	if (!faults.errors && probe_open(&probe, &settings.conf.probe, &faults)) {
		settings_free(&daemon->settings);
		probe_close(&daemon->probe);
		daemon->settings = settings;
		daemon->probe = probe;
		daemon->probe.conf = &daemon->settings.conf.probe;
		daemon->proof = (struct decision){0}; /* the VIPs stay as they are until there is a new proof */
		round_use_vips(daemon);
		keep_settings(daemon);
		log_notice("%s is in use", daemon->path);
	} else {
		log_faults(&faults, FAULTS_ALL);
		log_error("%s: has errors; the last configuration stays in use", daemon->path);
		settings_free(&settings);
	}
	faults_clear(&faults);
	service_ready();
}

static void loop(struct daemon *daemon)
{
	while (!must_stop()) {
		uint64_t next = clock_now_ms() + daemon->settings.conf.interval_ms;

		round_ask(daemon);
		report(daemon); /* before the commands, which announce only what the status file records */
		actions_run(daemon);
		report(daemon);
		if (!reload_signal)
			wait_until(daemon, next);
		if (reload_signal) {
			reload_signal = 0;
			reload(daemon);
		}
	}
}

/* Withdraws everything, and gives routers the time to follow before the director stops. */
static int stop(struct daemon *daemon)
{
	bool was_announced = false, withdrawn;

	log_info("stopped by signal %d", (int)stop_signal);
	daemon->stopping = true;
	service_stopping_status((uint64_t)daemon->settings.conf.withdraw_ms * 1000 + 30000000, "withdraws the VIPs");
	for (size_t i = 0; i < daemon->vips.count; i++)
		was_announced |= daemon->vips.items[i].state != VIPS_WITHDRAWN;
	withdrawn = actions_run(daemon);
	status_write(daemon);
	if (!withdrawn) {
		log_error(
			"VIPs may still be announced, because the routing daemon could not be told; look at it before the director stops");
		return EXIT_FAILURE;
	}
	if (was_announced && daemon->settings.conf.withdraw_ms) {
		uint64_t end = clock_now_ms() + daemon->settings.conf.withdraw_ms, now;

		log_info("waits %u ms for the routers", daemon->settings.conf.withdraw_ms);
		while ((now = clock_now_ms()) < end)
			wait_ms(-1, end - now);
	}
	return EXIT_SUCCESS;
}

/*
 * Begins with what an earlier process knew. VIPs that it left announced, for instance because it was killed, are
 * withdrawn if the configuration and the table have them no longer. A hold goes on, because systemd restarts this
 * process with a director that crashed.
 */
static bool open_vips(struct daemon *daemon)
{
	struct faults faults = {0};
	int error = status_read(&daemon->settings.conf, &daemon->vips, &faults);

	if (error && error != -ENOENT)
		log_warning(
			"%s; a VIP of an earlier glb-announce that neither the configuration nor the table has stays announced",
			faults_first_error(&faults));
	faults_clear(&faults);
	return daemon->vips.items && round_use_vips(daemon);
}

static void catch_signals(void)
{
	const struct sigaction stop = {.sa_handler = on_stop}, reload = {.sa_handler = on_reload},
			       ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGHUP, &reload, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

int daemon_run(const char *path, const struct settings *settings)
{
	struct daemon daemon = {.path = path, .settings = *settings, .started_s = (uint64_t)time(NULL), .changed = true};
	struct faults faults = {.file = path};
	int code = EXIT_FAILURE;

	catch_signals();
	director_open(&daemon.director);
	if (!probe_open(&daemon.probe, &daemon.settings.conf.probe, &faults)) {
		log_faults(&faults, FAULTS_ALL);
	} else if (!open_vips(&daemon)) {
		log_error("out of memory");
	} else {
		keep_settings(&daemon);
		status_write(&daemon); /* so that `status` works as soon as systemctl returns */
		service_ready();
		loop(&daemon);
		code = stop(&daemon);
	}
	faults_clear(&faults);
	probe_close(&daemon.probe);
	director_close(&daemon.director);
	vips_free(&daemon.vips);
	settings_free(&daemon.settings);
	return code;
}
