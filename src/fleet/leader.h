/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advances roll-outs, at one glb-fleet at a time: the one that wrote PREFIX/leader under a lease. All its transactions
 * compare the mod_revision of PREFIX/leader, so one that was paused or cut off changes nothing after another took over.
 * docs/reference/rollout.md is normative. One thread; callbacks run in etcd_run().
 */
#pragma once

#include "etcd/etcd.h"
#include "rollout/rollout.h"

struct leader;

/* etcd, prefix and name (of this director) are borrowed. NULL: out of memory. */
struct leader *leader_open(struct etcd *etcd, const char *prefix, const char *name);

/* Does what is due. Call it after each etcd_run(), and again after the time that it returns, in ms. */
int leader_step(struct leader *leader, uint64_t now_ms);

struct leader_state {
	bool leads;
	char name[ROLLOUT_NAME_MAX]; /* of the leader; "": none is known */
	/* The roll-out that is active, or the last one; id "": there was none. Borrowed until the next etcd_run(). */
	const struct rollout *rollout;
	char reason[ROLLOUT_REASON_MAX]; /* what the roll-out waits for, if it leads */
	char error[ETCD_ERROR_MAX]; /* why it cannot advance it; "": nothing is wrong */
};
const struct leader_state *leader_state(const struct leader *leader);
/* Returns true if that is the roll-out that etcd has now, as far as etcd replies. */
bool leader_knows_rollout(const struct leader *leader);

/* Revokes the lease, so that another one takes over at once. Call it before etcd_close(). */
void leader_close(struct leader *leader);
