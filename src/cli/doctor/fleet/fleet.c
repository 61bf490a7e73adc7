/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/doctor/fleet/fleet.h"

#include <stdlib.h>

#include "program/command.h"

#define DIRECTOR "glb_director_build_info"
#define PROXY    "glb_redirect_build_info"

/* The metrics that fleet_checks.c reads. docs/reference/metrics.md describes them. */
static const char *const wanted[] = {
	DIRECTOR,
	"glb_director_source_info",
	"glb_director_table_info",
	"glb_director_health_state",
	PROXY,
	"glb_redirect_attached",
	"glb_redirect_open_to_any_sender",
	"glb_redirect_allow_from_info",
	"glb_redirect_allow_from_omitted",
	"glb_redirect_outer_ipv6",
	NULL,
};

static const struct finding unreachable = {FINDINGS_FAIL, NULL, "nothing is known about it: {1} (" PEERS_ADVICE ")"};

static void report_host(struct fleet *fleet, const struct peer *peer)
{
	static const char *const members[] = {DIRECTOR, PROXY, NULL};
	const struct fetch *director = peers_page_with(peer, DIRECTOR), *proxy = peers_page_with(peer, PROXY);
	char reasons[PEERS_REASONS_MAX];

	if (director)
		fleet->directors[fleet->director_count++] = (struct fleet_member){peer->text, &director->samples};
	if (proxy && proxy != director)
		fleet->proxies[fleet->proxy_count++] = (struct fleet_member){peer->text, &proxy->samples};
	if (director || proxy)
		findings_ok(peer->text, "it replies");
	else
		findings_add(&unreachable, peer->text, peers_reasons(peer, members, "a director or a proxy", reasons));
}

/* Also finds the members for the other checks. */
static void fleet_reachable(void *subject)
{
	struct fleet *fleet = subject;

	for (size_t i = 0; i < fleet->peers.count; i++)
		report_host(fleet, &fleet->peers.items[i]);
}

static bool asks_etcd(const void *subject)
{
	return ((const struct fleet *)subject)->session.etcd;
}

static bool has_etcd(const void *subject)
{
	return ((const struct fleet *)subject)->etcd_read;
}

/* In the order in which they are printed. docs/reference/doctor.md lists them, too. */
static const struct findings_check checks[] = {
	{"reachable", fleet_reachable, NULL},
	{"etcd", fleet_etcd, asks_etcd},
	{"table", fleet_table, has_etcd},
	{"records", fleet_records, has_etcd},
	{"uses", fleet_uses, has_etcd},
	{"rollout", fleet_rollout, has_etcd},
	{"health", fleet_health, NULL},
	{"digests", fleet_digests, NULL},
	{"versions", fleet_versions, NULL},
	{"attached", fleet_attached, NULL},
	{"senders", fleet_senders, NULL},
	{"underlay", fleet_underlay, NULL},
	{0},
};

/* Returns false after an error message. */
static bool read_etcd(struct fleet *fleet, const char *conf)
{
	if (!session_open(&fleet->session, conf))
		return false;
	fleet->session.quiet = true; /* what etcd does is a finding */
	fleet->etcd_read = session_read(&fleet->session);
	return true;
}

int fleet_run(char *const words[], size_t count, const char *file, const char *conf, unsigned timeout_s, bool json)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	int code = FINDINGS_FAILED;

	if (!fleet) {
		command_error("out of memory");
		return code;
	}
	fleet->peers.what = "doctor --fleet";
	if (peers_read(&fleet->peers, words, count, file) == COMMAND_OK) {
		if (!fleet->peers.count && !conf)
			command_usage("doctor --fleet: name the directors and the proxies, or --config FILE");
		else if ((!conf || read_etcd(fleet, conf)) && peers_ask(&fleet->peers, wanted, timeout_s))
			code = findings_run(checks, fleet, "host", "fleet", json);
	}
	peers_free(&fleet->peers);
	session_close(&fleet->session);
	free(fleet);
	return code;
}
