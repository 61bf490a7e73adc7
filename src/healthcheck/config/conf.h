/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * healthcheck.conf as a struct (libconfig syntax; glb-healthcheck.conf(5) describes the keys). It is read once. Plain
 * data; nothing changes it after conf_read_healthcheck().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/endpoint.h"
#include "common/faults.h"
#include "conf/conf_key.h"
#include "health/settings.h"
#include "healthcheck/config/conf_command.h"
#include "healthcheck/config/conf_http.h"

/* The settings of one table. */
struct conf_table {
	char *name;
	struct http_settings http;
};

struct conf {
	char *src, *dst;
	/* At most one of reload_command and reload_build is set. */
	char *reload_command;
	/* Path of the binary table to build; NULL: build none. */
	char *reload_build;
	/* A systemd unit, or the full path of a pid file; NULL: notify nobody. */
	char *reload_notify;
	unsigned reload_timeout_ms;
	/* Default of trigger_healthy and trigger_unhealthy in `timing`. */
	unsigned trigger;
	struct check_timing timing;
	/* How long an unhealthy verdict stays at least, and at most if the check flaps. */
	unsigned hold_ms, hold_max_ms;
	unsigned panic_threshold, max_concurrent;
	/* Greatest age of the states that are recorded because health moved first hops; 0: none are. */
	unsigned keep_previous_s;
	/* Percent, see table/table_guard.h. */
	unsigned max_shrink;
	/* Without a family: the kernel chooses the source address. */
	struct netaddr source_ip, source_ip6;
	char *state_file;
	/* Where /status and /metrics are. Without a port: nowhere. */
	struct endpoint listen;
	bool watch, tunnel_vip, log_probes;
	/* fou checks put a GRE header before the inner packet. */
	bool fou_gre;
	/* gue and fou checks of IPv6 proxies have a UDP checksum. */
	bool outbound_udp_checksum;
	struct http_settings http;
	struct conf_table *tables;
	size_t table_count;
	struct conf_commands commands;
	/* The longest time for which https checks resume a session; 0: every handshake is full. */
	unsigned full_handshake_ms;
	/* The most commands that run at the same time. */
	unsigned max_commands;
};

/* Returns 0; or -errno with errors in `faults`, and nothing to free. */
int conf_read_healthcheck(const char *path, struct conf *conf, struct faults *faults);
void conf_free(struct conf *conf);

/* The keys of healthcheck.conf. */
extern const struct conf_key conf_healthcheck_keys[];

/* Returns the configured source address of this family; NULL: the kernel chooses. */
const struct netaddr *conf_source(const struct conf *conf, uint8_t family);

/* Overwrites the http settings that the file sets for all tables, then those for this table. *settings borrows them. */
void conf_http_of(const struct conf *conf, const char *table, struct http_settings *settings);
