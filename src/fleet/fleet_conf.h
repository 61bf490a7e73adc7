/* SPDX-License-Identifier: BSD-3-Clause */
/* fleet.conf (libconfig syntax; docs/reference/fleet.md describes the keys). It is read once. Plain data; nothing
 * changes it after fleet_conf_read(). */
#pragma once

#include "common/endpoint.h"
#include "etcd/etcd.h"

struct fleet_conf {
	struct etcd_conf etcd;
	/* All are owned. The keys in etcd begin with the prefix and a slash. */
	char *prefix, *name;
	char *table; /* the JSON table that the agent writes */
	/* The binary table that the agent builds; NULL: glb-healthcheck, whose src is `table`, builds `binary`. */
	char *build;
	char *binary; /* what the director uses */
	char *notify; /* the director's unit, or the full path of a pid file; NULL: nobody is notified */
	char *file_prefix, *keys_dir, *state_file, *status_file;
	unsigned reload_timeout_ms, look_ms;
	unsigned max_shrink; /* percent, see table/table_guard.h */
	struct endpoint listen; /* of /metrics; without a port: nowhere */
};

/* Returns 0; or -errno with errors in faults. The caller calls fleet_conf_free() in either case. */
int fleet_conf_read(const char *path, struct fleet_conf *conf, struct faults *faults);
void fleet_conf_free(struct fleet_conf *conf);

/* The keys of fleet.conf. */
extern const struct conf_key fleet_conf_keys[];
