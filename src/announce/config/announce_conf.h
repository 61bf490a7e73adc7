/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * announce.conf in libconfig syntax (keys: docs/reference/announce.md#announceconf), read once into plain data. Nothing
 * changes a struct announce_conf after announce_conf_read(). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/faults.h"
#include "common/netaddr.h"
#include "conf/conf_key.h"

/* More VIPs than this are not announced one by one. */
#define ANNOUNCE_MAX_VIPS 1024

/* The defaults of status_file and switch_file. */
#define ANNOUNCE_STATUS_FILE "/run/glb-announce/status.json"
#define ANNOUNCE_SWITCH_FILE "/var/lib/glb-announce/withdrawn.json"

/* What happens to the VIPs while the director runs and does not answer. */
enum announce_fail {
	ANNOUNCE_FAIL_CLOSED, /* they are withdrawn */
	ANNOUNCE_FAIL_STATIC, /* they stay as they are */
};

/* A ping that goes through the director to a proxy and back. */
struct announce_probe {
	struct netaddr address; /* of this director alone; family NETADDR_NONE: there is no probe */
	struct netaddr source; /* NETADDR_NONE: the kernel chooses */
	unsigned interval_ms; /* a reply must come before the next request */
	/* Replies in a row that prove that the director forwards, and missing ones that disprove it; fall 0: they never
	 * do. */
	unsigned rise, fall;
};

struct announce_conf {
	/* All are owned. */
	char *driver, *file_prefix, *status_file, *switch_file;
	/* The prefixes to announce. If `vips` is missing: those of the table's binds, and vip_count is 0. */
	bool all_binds;
	size_t vip_count;
	struct netprefix *vips;
	unsigned interval_ms, timeout_ms;
	/* Answers in a row that announce, and that withdraw. */
	unsigned rise, fall;
	unsigned hold_ms, hold_max_ms;
	unsigned reassert_ms, withdraw_ms;
	enum announce_fail fail;
	struct announce_probe probe;
};

/*
 * Reads and validates the file `path`. Adds all faults with their line and key. 0, or -EINVAL: faults has errors, or
 * another -errno: the file cannot be read, and faults has an error that says so. The caller calls announce_conf_free()
 * in either case.
 */
int announce_conf_read(const char *path, struct announce_conf *conf, struct faults *faults);
void announce_conf_free(struct announce_conf *conf);

/* The keys of announce.conf. */
extern const struct conf_key announce_conf_keys[];
