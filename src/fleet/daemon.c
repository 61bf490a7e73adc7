/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/fleet.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file/file.h"
#include "fleet/status.h"
#include "program/http/http_server.h"
#include "program/log.h"
#include "program/member.h"
#include "program/service.h"

#define STEP_MS      1000 /* longest wait */
#define STOP_MS      10000u /* for a child process that gives a table to the director */
#define LOOK_WAIT_MS 15000u

uint64_t fleet_used_revision(const struct fleet *fleet)
{
	const struct desired *desired = &fleet->desired;

	if (fleet->look.answers && strcmp(fleet->look.digest, desired->tried) == 0)
		return desired->tried_revision;
	return fleet->look.answers && fleet->look.current ? fleet->look_revision : 0;
}

/* Lets the descriptor end the wait of etcd_run(). */
static bool wait_for(const struct fleet *fleet, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return fd >= 0 && epoll_ctl(fleet->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool open_waits(struct fleet *fleet)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	sigaction(SIGPIPE, &ignore, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fleet->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	fleet->epoll = epoll_create1(EPOLL_CLOEXEC);
	return wait_for(fleet, fleet->signals);
}

static void take_signals(struct fleet *fleet)
{
	struct signalfd_siginfo info;

	while (read(fleet->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			desired_accept(&fleet->desired, etcd_state(fleet->etcd)->cluster);
		else if (info.ssi_signo == SIGHUP)
			desired_retry(&fleet->desired);
		else
			fleet->stopping = true;
	}
}

static void on_table(void *data, const struct etcd_kv *kv)
{
	struct fleet *fleet = data;

	if (!fleet->canary.away)
		desired_take(&fleet->desired, kv, etcd_state(fleet->etcd)->cluster);
}

/* A key that does not exist has no change to report. */
static void on_table_ready(void *data)
{
	struct fleet *fleet = data;
	const struct etcd_kv none = {0};

	if (!fleet->canary.away && !fleet->desired.text && !fleet->desired.refused_revision)
		desired_take(&fleet->desired, &none, etcd_state(fleet->etcd)->cluster);
}

void fleet_read_table(struct fleet *fleet)
{
	static const struct etcd_mirror_calls calls = {.changed = on_table, .ready = on_table_ready};
	char key[ROLLOUT_KEY_MAX];

	if (fleet->table)
		etcd_mirror_close(fleet->table);
	fleet->table =
		etcd_mirror_open(fleet->etcd, rollout_key(fleet->conf.prefix, key, "table"), false, 1, &calls, fleet);
}

/* Whether the director's table is that of `table` is decided again when one of the files changes. */
static void plan_look(struct fleet *fleet)
{
	struct stat binary;

	file_look(fleet->conf.binary, &binary);
	if (!file_is_unchanged(&binary, &fleet->binary) || fleet->look_revision != fleet->desired.state.applied)
		fleet->decided[0] = '\0';
	else
		strcpy(fleet->decided, fleet->look.digest);
	fleet->binary = binary;
	fleet->look_plan = (struct look_plan){.conf = &fleet->conf,
		.written = fleet->desired.state.written,
		.digest = fleet->desired.state.digest,
		.decided = fleet->decided};
}

static void start_job(struct fleet *fleet)
{
	uint64_t now = clock_now_ms();
	bool started;

	if (job_runs(&fleet->job))
		return;
	fleet->task = FLEET_SAVES;
	started = desired_save(&fleet->desired, &fleet->job);
	if (!started) {
		fleet->task = FLEET_APPLIES;
		started = desired_start(&fleet->desired, &fleet->job);
	}
	if (!started && now >= fleet->look_ms) {
		fleet->task = FLEET_LOOKS;
		plan_look(fleet);
		started = job_start(&fleet->job, look_run, &fleet->look_plan, LOOK_WAIT_MS) == 0;
		fleet->look_ms = now + fleet->conf.look_ms;
	}
	if (started)
		wait_for(fleet, fleet->job.pidfd);
}

/* A director that is busy may miss the time to reply once. One that has ended misses the next look, too, which comes at
 * once. */
static bool is_missed_once(struct fleet *fleet, const json_t *look)
{
	fleet->missed = !fleet->missed && fleet->look.answers && !*member_text(look, "digest");
	return fleet->missed;
}

static void step_job(struct fleet *fleet)
{
	json_t *result;

	if (!job_step(&fleet->job, fleet->task == FLEET_LOOKS, &result))
		return;
	if (fleet->task == FLEET_SAVES) {
		desired_saved(&fleet->desired, result);
	} else if (fleet->task == FLEET_APPLIES) {
		desired_finish(&fleet->desired, &fleet->job, result);
		fleet->look_ms = 0;
		fleet->binary = (struct stat){0}; /* decide again, although the value may be the same */
	} else if (is_missed_once(fleet, result)) {
		fleet->look_ms = 0;
	} else {
		look_take(&fleet->look, result);
		fleet->looked = true;
		fleet->look_revision = fleet->desired.state.applied;
	}
	json_decref(result);
}

static void loop(struct fleet *fleet)
{
	int wait_ms = 0, http_ms, leader_ms;

	while (!fleet->stopping) {
		uint64_t now;

		service_alive();
		etcd_run(fleet->etcd, fleet->epoll, wait_ms);
		take_signals(fleet);
		step_job(fleet);
		start_job(fleet);
		http_ms = fleet->http ? http_server_run(fleet->http) : -1;
		record_step(fleet);
		now = clock_now_ms();
		leader_ms = leader_step(fleet->leader, now);
		canary_step(fleet);
		status_step(fleet);
		wait_ms = http_ms >= 0 && http_ms < STEP_MS ? http_ms : STEP_MS;
		wait_ms = leader_ms >= 0 && leader_ms < wait_ms ? leader_ms : wait_ms;
		if (!job_runs(&fleet->job) && fleet->look_ms < now + (unsigned)wait_ms)
			wait_ms = fleet->look_ms > now ? (int)(fleet->look_ms - now) : 0;
	}
}

static bool open_fleet(struct fleet *fleet, struct faults *faults)
{
	if (!open_waits(fleet)) {
		faults_error(faults, NULL, "no descriptors are left");
		return false;
	}
	if (!status_listen(fleet, faults))
		return false;
	if (fleet->http)
		wait_for(fleet, http_server_descriptor(fleet->http));
	fleet->etcd = etcd_open(&fleet->conf.etcd, faults);
	if (!fleet->etcd)
		return false;
	canary_open(fleet);
	fleet_read_table(fleet);
	fleet->lease = etcd_lease_open(fleet->etcd, FLEET_LEASE_S);
	fleet->leader = leader_open(fleet->etcd, fleet->conf.prefix, fleet->conf.name);
	record_open(fleet);
	if (!fleet->leader)
		faults_error(faults, NULL, "out of memory");
	return fleet->leader;
}

/* A table that is on its way to the director arrives there. Ending the lease removes the record. */
static void close_fleet(struct fleet *fleet)
{
	service_stopping();
	job_stop(&fleet->job, fleet->task == FLEET_APPLIES ? STOP_MS : 0);
	record_close(fleet);
	if (fleet->leader)
		leader_close(fleet->leader);
	if (fleet->etcd) {
		etcd_mirror_close(fleet->table);
		etcd_lease_end(fleet->lease);
		etcd_close(fleet->etcd);
	}
	http_server_close(fleet->http);
	look_free(&fleet->look);
	desired_close(&fleet->desired);
	fleet_conf_free(&fleet->conf);
}

int daemon_run(const char *path, struct fleet_conf *conf)
{
	static struct fleet fleet;
	struct faults faults = {.file = path};
	int code = EXIT_FAILURE;

	umask(umask(0777) | 0027); /* the tables have keys */
	fleet = (struct fleet){.path = path, .conf = *conf, .started_s = (uint64_t)time(NULL)};
	desired_open(&fleet.desired, &fleet.conf);
	if (open_fleet(&fleet, &faults)) {
		service_ready();
		loop(&fleet);
		log_info("stopped by a signal");
		status_step(&fleet);
		code = EXIT_SUCCESS;
	}
	log_faults(&faults, FAULTS_ALL);
	close_fleet(&fleet);
	return code;
}
