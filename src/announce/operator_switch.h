/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operator's switch: a file that exists while an operator has withdrawn the VIPs of this host. It survives
 * restarts. `glb-announce withdraw` and `glb-announce announce` change it, and the daemon reads it. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"

struct operator_switch {
	bool withdrawn;
	/* Only if withdrawn. Empty or 0 if the file does not tell. */
	char by[64], reason[160];
	uint64_t since_s; /* Unix time */
};

/*
 * Reads the file. Only ENOENT means that no operator has withdrawn the VIPs. A file that has no valid content or cannot
 * be read, for whatever reason, counts as withdrawn. Returns 0; or -errno with an error in faults: it cannot be read.
 */
int operator_switch_read(const char *path, struct operator_switch *state, struct faults *faults);

/* Withdraws; `by` and since_s are set here. Or ends that. Both return 0, or -errno with an error in faults. */
int operator_switch_withdraw(const char *path, const char *reason, struct faults *faults);
int operator_switch_announce(const char *path, struct faults *faults);

/* Writes "root withdrew the VIPs at 2026-11-22 12:30:00 UTC: REASON" to buf, and returns buf. */
const char *operator_switch_text(const struct operator_switch *state, char buf[300]);
