/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-director-cli doctor --fleet`: asks directors and proxies for their metrics, and says where they do not fit
 * together. Changes nothing. One thread; blocks.
 */
#pragma once

#include "cli/fleet/peers.h"
#include "program/findings.h"

/* The page of a director or of a proxy, which belongs to its struct fetch. */
struct fleet_member {
	const char *name; /* as the user wrote it */
	const struct samples *samples;
};

struct fleet {
	struct peers peers;
	size_t director_count, proxy_count;
	struct fleet_member directors[PEERS_MAX * PEERS_PAGES], proxies[PEERS_MAX * PEERS_PAGES];
};

/*
 * Asks the hosts that the words name, and prints the findings. file: has more hosts, one a line; NULL: none. Returns
 * the exit code, as of findings_print(); errors about the arguments have FINDINGS_FAILED and a message.
 */
int fleet_run(char *const words[], size_t count, const char *file, unsigned timeout_s, bool json);

/* fleet_checks.c: the subject is a struct fleet. */
findings_look fleet_health, fleet_digests, fleet_versions, fleet_attached, fleet_senders;
