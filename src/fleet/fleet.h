/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of `glb-fleet run`. One thread, which does nothing that blocks: what does runs in a child process, so that
 * the lease stays alive.
 */
#pragma once

#include "etcd/etcd.h"
#include "fleet/canary.h"
#include "fleet/desired.h"
#include "fleet/fleet_conf.h"
#include "fleet/job.h"
#include "fleet/leader.h"
#include "fleet/look.h"
#include "fleet/record.h"

#define FLEET_LEASE_S 15u

struct http_server;

/* Numbers that are computed for metrics only. */
struct fleet_gauges {
	bool connected, watch, published, refused, failing, conflict, leads;
	bool rollout_active, rollout_paused, rollout_stopped;
	uint32_t rollout_step;
	double unconnected_s;
	uint64_t revision_used;
};

struct fleet {
	const char *path; /* of the configuration */
	struct fleet_conf conf;
	int epoll, signals; /* descriptors: what ends the wait of etcd_run(), and one of that */
	struct etcd *etcd;
	struct etcd_mirror *table; /* of PREFIX/table */
	struct etcd_lease *lease; /* all keys of this agent are under it */
	struct desired desired;
	struct look look;
	bool looked; /* at least once */
	bool missed; /* the director did not reply to the last look, but to the one before */
	uint64_t look_ms; /* the next look */
	struct stat binary; /* of the binary table at the last look */
	uint64_t look_revision; /* of the table in the file at the last look, with which the director's was compared */
	struct look_plan look_plan; /* for the child process */
	char decided[TEXT_HEX64];
	struct job job; /* one child process at a time */
	enum { FLEET_LOOKS, FLEET_APPLIES, FLEET_SAVES } task; /* of the child process */
	struct record record;
	struct canary canary;
	struct leader *leader; /* what advances roll-outs */
	struct http_server *http;
	struct fleet_gauges gauges;
	uint64_t started_s; /* Unix time */
	bool stopping;
};

/* `glb-fleet run`: runs until SIGTERM or SIGINT, which must be blocked. Returns the exit code, and frees *conf. */
int daemon_run(const char *path, struct fleet_conf *conf);

/* Reads PREFIX/table anew, and watches it. Not for use in a callback. */
void fleet_read_table(struct fleet *fleet);

/* Returns the revision of the table that the director uses; 0: it is not from etcd, or not known. */
uint64_t fleet_used_revision(const struct fleet *fleet);
