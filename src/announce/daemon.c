/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/daemon.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "announce/status.h"
#include "common/clock.h"
#include "common/text.h"
#include "program/log.h"
#include "program/service.h"

#define DRIVER_RETRY_MAX_MS 8000u

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
	stop_signal = number;
}

enum vips_state daemon_wish(const struct daemon *daemon, const struct vip *vip, const char **reason)
{
	static char text[300];

	*reason = vip->reason[0] ? vip->reason : daemon->director.reason;
	if (daemon->stopping)
		*reason = "glb-announce stops";
	else if (vip->gone)
		*reason = "neither the configuration nor the forwarding table has it any more";
	else if (daemon->operator_switch.withdrawn)
		*reason = operator_switch_text(&daemon->operator_switch, text);
	else
		return vip->wish;
	return VIPS_WITHDRAWN;
}

static void set_state(struct daemon *daemon, struct vip *vip, enum vips_state state)
{
	if (vip->state == state)
		return;
	vip->state = state;
	vip->changed_s = (uint64_t)time(NULL);
	daemon->changed = true;
}

static void driver_failed(struct daemon *daemon, const char *error)
{
	uint64_t wait = damper_backoff_ms(++daemon->driver_failures);

	if (strcmp(daemon->driver_error, error) != 0)
		log_error("%s; glb-announce tries again", error);
	snprintf(daemon->driver_error, sizeof(daemon->driver_error), "%s", error);
	daemon->driver_retry_ms = clock_now_ms() + (wait < DRIVER_RETRY_MAX_MS ? wait : DRIVER_RETRY_MAX_MS);
	daemon->changed = true;
}

static void driver_works(struct daemon *daemon)
{
	if (!daemon->driver_error[0])
		return;
	log_notice("the commands of %s work again", daemon->conf->driver);
	daemon->driver_error[0] = '\0';
	daemon->driver_failures = 0;
	daemon->changed = true;
}

/* Sets one VIP. Returns false if the command failed. */
static bool set_vip(struct daemon *daemon, struct vip *vip, enum vips_state wish, const char *reason)
{
	char error[DRIVER_ERROR_MAX], prefix[NETPREFIX_TEXT_MAX];

	netprefix_format(&vip->prefix, prefix);
	if (!driver_set(daemon->driver, &vip->prefix, wish == VIPS_ANNOUNCED, error)) {
		driver_failed(daemon, error);
		return false;
	}
	driver_works(daemon);
	vip->repeat = false;
	if (vip->state != wish)
		log_notice("%s: %s: %s", prefix, vips_state_name(wish), reason);
	set_state(daemon, vip, wish);
	return true;
}

/*
 * Finds out what the routing daemon announces, because it may have been restarted, or an operator may have told it something else.
 * Without a check the commands are repeated.
 */
static bool look(struct daemon *daemon)
{
	char error[DRIVER_ERROR_MAX], prefix[NETPREFIX_TEXT_MAX], *printed;

	if (!daemon->driver->check) {
		for (size_t i = 0; i < daemon->vips.count; i++)
			daemon->vips.items[i].repeat = true;
		return true;
	}
	printed = driver_check(daemon->driver, error);
	if (!printed) {
		driver_failed(daemon, error);
		return false;
	}
	driver_works(daemon);
	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];
		bool announced = driver_is_announced(daemon->driver, &vip->prefix, printed);
		enum vips_state state = announced ? VIPS_ANNOUNCED : VIPS_WITHDRAWN;

		if (vip->state != VIPS_UNKNOWN && vip->state != state)
			log_warning("%s: the routing daemon has it %s, although it was told otherwise",
				netprefix_format(&vip->prefix, prefix), vips_state_name(state));
		set_state(daemon, vip, state);
	}
	free(printed);
	return true;
}

/* Makes the routing daemon do what each VIP should be. Ends at the first command that fails. */
static bool act(struct daemon *daemon)
{
	uint64_t now = clock_now_ms();

	if (!daemon->stopping && now < daemon->driver_retry_ms && daemon->driver_error[0])
		return false;
	if (daemon->stopping || now >= daemon->reassert_ms) {
		if (!look(daemon) && !daemon->stopping)
			return false;
		daemon->reassert_ms = now + daemon->conf->reassert_ms;
		daemon->changed = true;
	}
	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];
		const char *reason;
		enum vips_state wish = daemon_wish(daemon, vip, &reason);

		if (wish == VIPS_UNKNOWN || (vip->state == wish && !vip->repeat))
			continue;
		if (!set_vip(daemon, vip, wish, reason))
			return false;
	}
	vips_forget(&daemon->vips);
	return true;
}

/* Takes over the prefixes of the binds, unless the configuration lists the VIPs. */
static void use_binds(struct daemon *daemon)
{
	static struct netprefix prefixes[ANNOUNCE_MAX_VIPS];
	size_t left_out, count = director_prefixes(&daemon->director, prefixes, ANNOUNCE_MAX_VIPS, &left_out);

	if (!daemon->conf->all_binds)
		return;
	if (left_out)
		log_warning(
			"%zu prefix%s of the binds %s not announced, because %s larger than /24 or /48, or there are more than %d: list the VIPs in announce.conf",
			left_out, left_out == 1 ? "" : "es", left_out == 1 ? "is" : "are",
			left_out == 1 ? "it is" : "they are", ANNOUNCE_MAX_VIPS);
	if (!vips_replace(&daemon->vips, prefixes, count))
		log_error("out of memory; the VIPs stay as they are");
	daemon->reassert_ms = 0; /* whether the new ones are announced is not known */
}

static void ask(struct daemon *daemon)
{
	const struct announce_conf *conf = daemon->conf;
	const struct vips_rule rule = {
		.damper = {.trigger_healthy = conf->rise,
			.trigger_unhealthy = conf->fall,
			.hold_ms = conf->hold_ms,
			.hold_max_ms = conf->hold_max_ms},
		.fail_static = conf->fail == ANNOUNCE_FAIL_STATIC,
	};
	struct faults faults = {.file = conf->switch_file};
	char reason[VIPS_REASON_MAX];
	uint64_t now;

	if (director_ask(&daemon->director, conf))
		use_binds(daemon);
	now = clock_now_ms();
	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];
		enum vips_answer answer = director_answer(&daemon->director, &vip->prefix, reason);

		daemon->changed |= vips_feed(vip, answer, reason, &rule, now);
	}
	if (operator_switch_read(conf->switch_file, &daemon->operator_switch, &faults))
		log_limited(LOG_LEVEL_ERROR, "%s", faults_first_error(&faults));
	faults_clear(&faults);
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
		status_write(daemon);
	daemon->changed = false;
}

/* Waits for the next round, for a signal, or for the end of the director. */
static void wait_ms(int director, uint64_t ms)
{
	struct pollfd fd = {.fd = director, .events = POLLIN};
	struct timespec timeout = clock_timespec(ms * 1000);
	sigset_t none;

	sigemptyset(&none);
	ppoll(&fd, 1, &timeout, &none);
}

static void loop(struct daemon *daemon)
{
	while (!stop_signal) {
		uint64_t next = clock_now_ms() + daemon->conf->interval_ms, now;

		ask(daemon);
		act(daemon);
		report(daemon);
		service_alive();
		now = clock_now_ms();
		wait_ms(daemon->director.socket.fd, now < next ? next - now : 0);
	}
}

/* Withdraws everything, and gives routers the time to follow before the director stops. */
static int stop(struct daemon *daemon)
{
	bool was_announced = false, withdrawn;

	log_info("stopped by signal %d", (int)stop_signal);
	daemon->stopping = true;
	service_stopping_status((uint64_t)daemon->conf->withdraw_ms * 1000 + 30000000, "withdraws the VIPs");
	for (size_t i = 0; i < daemon->vips.count; i++)
		was_announced |= daemon->vips.items[i].state != VIPS_WITHDRAWN;
	withdrawn = act(daemon);
	status_write(daemon);
	if (!withdrawn) {
		log_error(
			"VIPs may still be announced, because the routing daemon could not be told; look at it before the director stops");
		return EXIT_FAILURE;
	}
	if (was_announced && daemon->conf->withdraw_ms) {
		uint64_t end = clock_now_ms() + daemon->conf->withdraw_ms, now;

		log_info("waits %u ms for the routers", daemon->conf->withdraw_ms);
		while ((now = clock_now_ms()) < end)
			wait_ms(-1, end - now);
	}
	return EXIT_SUCCESS;
}

/*
 * Begins with the VIPs that an earlier process may have left announced, for instance because it was killed. Those that the
 * configuration or the table has no longer are then withdrawn.
 */
static bool open_vips(struct daemon *daemon)
{
	static struct netprefix prefixes[ANNOUNCE_MAX_VIPS];
	size_t count = status_read_prefixes(daemon->conf->status_file, prefixes, ANNOUNCE_MAX_VIPS);

	return vips_replace(&daemon->vips, prefixes, count) &&
	       (daemon->conf->all_binds || vips_replace(&daemon->vips, daemon->conf->vips, daemon->conf->vip_count));
}

int daemon_run(const struct announce_conf *conf, const struct driver_conf *driver)
{
	struct daemon daemon = {.conf = conf, .driver = driver, .started_s = (uint64_t)time(NULL), .changed = true};
	const struct sigaction action = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
	int code = EXIT_FAILURE;

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	director_open(&daemon.director);
	if (!open_vips(&daemon)) {
		log_error("out of memory");
	} else {
		service_ready();
		loop(&daemon);
		code = stop(&daemon);
	}
	director_close(&daemon.director);
	vips_free(&daemon.vips);
	return code;
}
