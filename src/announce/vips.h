/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The VIPs, and the decision whether each of them should be announced. Pure: callers pass the time, in milliseconds of
 * clock_now_ms(), and nothing makes system calls. One thread.
 */
#ifndef GLB_ANNOUNCE_VIPS_H
#define GLB_ANNOUNCE_VIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "healthcheck/core/damper.h"

#define VIPS_REASON_MAX 256

/* What the director says about a VIP. */
enum vips_answer {
	VIPS_GOOD, /* it forwards packets for the VIP */
	VIPS_BAD, /* it does not; damped */
	VIPS_GONE, /* it has ended, or will soon: there is nothing to damp */
	VIPS_SILENT, /* nothing is known */
};

/* What a VIP should be, and what the routing daemon was last known to do. */
enum vips_state {
	VIPS_UNKNOWN,
	VIPS_ANNOUNCED,
	VIPS_WITHDRAWN,
};

struct vips_rule {
	struct damper_rule damper;
	bool fail_static; /* silence changes nothing */
};

/* A command that failed: how often in a row, and when it is tried again. */
struct vips_retry {
	unsigned failures;
	uint64_t next_ms;
};

struct vip {
	struct netprefix prefix;
	struct damper damper;
	/* It was good, and then bad. Before that, becoming good is no recovery, after which the hold would double. */
	bool fell;
	/* Bad answers in a row before the first decision. */
	unsigned bad;
	/* What the answers lead to; VIPS_UNKNOWN: not decided yet, so the VIP stays as it is. */
	enum vips_state wish;
	char reason[VIPS_REASON_MAX]; /* of the wish */
	/* Owned by the daemon, not by vips_feed(). */
	enum vips_state state;
	uint64_t changed_s; /* Unix time of the last change of `state`; 0: none */
	struct vips_retry retry; /* of the command that sets `state` */
	bool repeat; /* the command is run again, because nobody knows whether it still holds */
	bool is_probe; /* it is the address of the probe */
	bool gone; /* neither the configuration nor the table has it any more */
};

struct vips {
	struct vip *items; /* owned */
	size_t count;
};

/* Takes one answer. Returns true if the wish changed; then the reason is why. */
bool vips_feed(
	struct vip *vip, enum vips_answer answer, const char *reason, const struct vips_rule *rule, uint64_t now_ms);

/*
 * Makes these the prefixes of the VIPs, and adds `probe` unless it is NULL. A VIP that stays keeps everything. A VIP that is no longer there gets `gone`, until
 * vips_forget() finds it withdrawn. Returns false: out of memory, and nothing has changed.
 */
bool vips_replace(struct vips *vips, const struct netprefix *prefixes, size_t count, const struct netprefix *probe);
void vips_forget(struct vips *vips);
/* Returns NULL if there is none. */
struct vip *vips_find(const struct vips *vips, const struct netprefix *prefix);
void vips_free(struct vips *vips);

/* "unknown", "announced", "withdrawn" */
const char *vips_state_name(enum vips_state state);

#endif
