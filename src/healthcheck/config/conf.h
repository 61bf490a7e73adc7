/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * healthcheck.conf, read once (libconfig syntax; keys in glb-healthcheck.conf(5)). Plain data, not
 * changed after conf_read_healthcheck().
 */
#ifndef GLB_HEALTHCHECK_CONFIG_CONF_H
#define GLB_HEALTHCHECK_CONFIG_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"
#include "common/netaddr.h"
#include "healthcheck/checks/settings.h"
#include "healthcheck/config/conf_http.h"

/* What differs for one table. */
struct conf_table {
	char *name;
	struct conf_http http;
};

struct conf {
	char *src, *dst;
	char *reload_command; /* at most one of this and reload_build is set */
	char *reload_build; /* the binary table; NULL: none */
	char *reload_notify; /* a unit, or a path of a pid file; NULL: nobody */
	unsigned reload_timeout_ms;
	unsigned trigger; /* for both directions, where timing did not say */
	struct check_timing timing;
	unsigned hold_ms, panic_threshold, max_concurrent;
	struct netaddr source_ip, source_ip6; /* of no family: the kernel chooses */
	char *state_file;
	struct netaddr listen_ip; /* of no family: nothing is served */
	uint16_t listen_port;
	bool watch, tunnel_vip, log_probes;
	struct conf_http http;
	struct conf_table *tables;
	size_t table_count;
};

/* As conf_read() of the director; on failure there is nothing to free. */
int conf_read_healthcheck(const char *path, struct conf *conf, struct faults *faults);
void conf_free(struct conf *conf);

/* The source address for this family; NULL: the kernel chooses. */
const struct netaddr *conf_source(const struct conf *conf, uint8_t family);

/* How a table's proxies are asked by HTTP. */
const struct conf_http *conf_http_of(const struct conf *conf, const char *table);

#endif
