/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-director-cli doctor --fleet`: asks directors and proxies for their metrics, reads what directors say in etcd,
 * and says where they do not fit together. Changes nothing. One thread; blocks.
 */
#pragma once

#include "cli/fleet/peers.h"
#include "cli/rollout/session.h"
#include "program/findings.h"

/* The page of a director or of a proxy, which belongs to its struct fetch; or the record of a director in etcd. */
struct fleet_member {
	const char *name; /* as the user wrote it, or in etcd */
	const struct samples *samples;
	const struct rollout_director *record; /* NULL: it is a page */
};

struct fleet {
	struct peers peers;
	size_t director_count, proxy_count;
	struct fleet_member directors[PEERS_MAX * PEERS_PAGES], proxies[PEERS_MAX * PEERS_PAGES];
	struct session session; /* without `etcd`: etcd is not asked */
	bool etcd_read; /* the rest is valid */
	size_t record_count;
	struct fleet_member records[ROLLOUT_MAX_DIRECTORS]; /* those that are records */
};

/*
 * Asks the hosts that the words name, and prints the findings. file: has more hosts, one a line; NULL: none. conf: the
 * fleet.conf that names etcd; NULL: etcd is not asked. Returns the exit code, as of findings_print(); errors about the
 * arguments have FINDINGS_FAILED and a message.
 */
int fleet_run(char *const words[], size_t count, const char *file, const char *conf, unsigned timeout_s, bool json);

/* fleet_checks.c: the subject is a struct fleet. */
findings_look fleet_health, fleet_digests, fleet_versions, fleet_attached, fleet_senders, fleet_underlay;

/* Adds the finding about members whose label has another value than that of most members, see fleet_checks.c. */
bool fleet_compare(const struct fleet_member *members, size_t count, const char *name, const char *label,
	const struct finding *other, char most[SAMPLES_LABEL_MAX]);

/* fleet_etcd.c: the same subject. All but the first check are for a fleet whose etcd_read is true. */
findings_look fleet_etcd, fleet_table, fleet_records, fleet_uses, fleet_rollout;
