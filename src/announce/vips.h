/* SPDX-License-Identifier: BSD-3-Clause */
/* The VIPs: for each one the decision whether it should be announced, and what the routing daemon does. Pure. One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "announce/decision.h"
#include "common/netaddr.h"

/* What a VIP should be, or what the routing daemon was last known to do. */
enum vips_state {
	VIPS_UNKNOWN,
	VIPS_ANNOUNCED,
	VIPS_WITHDRAWN,
};

/* A command that failed: how often in a row, and when it is tried again. */
struct vips_retry {
	unsigned failures;
	uint64_t next_ms;
	enum vips_state wish; /* what the command of a VIP should do */
};

struct vip {
	struct netprefix prefix;
	/* Whether the director forwards its packets. DECISION_NONE: it stays as it is. */
	struct decision decision;
	enum vips_state state;
	uint64_t changed_s; /* Unix time of the last change of `state`; 0: none */
	struct vips_retry retry; /* of the command that sets `state` */
	bool repeat; /* the command is run again, because nobody knows whether it still holds */
	bool recorded; /* the status file says that it may be announced, so that the next process withdraws it */
	bool is_probe; /* it is the address of the probe */
	bool gone; /* neither the configuration nor the table has it any more */
};

struct vips {
	struct vip *items; /* owned */
	size_t count;
};

/*
 * Makes these the prefixes of the VIPs, and adds `probe` unless it is NULL. A VIP that stays keeps everything. One that
 * is not among them gets `gone`, until vips_forget() finds it withdrawn. Returns false: out of memory, and nothing has
 * changed.
 */
bool vips_replace(struct vips *vips, const struct netprefix *prefixes, size_t count, const struct netprefix *probe);
void vips_forget(struct vips *vips);
/* Returns NULL if there is none. */
struct vip *vips_find(const struct vips *vips, const struct netprefix *prefix);
void vips_free(struct vips *vips);

/* "unknown", "announced", "withdrawn" */
const char *vips_state_name(enum vips_state state);
