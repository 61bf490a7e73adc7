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
	NULL,
};

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
		findings_add(&fleet->findings, FINDINGS_OK, peer->text, NULL, "it replies");
	else
		findings_add(&fleet->findings, FINDINGS_FAIL, peer->text, NULL,
			"nothing is known about it: %s (" PEERS_ADVICE ")",
			peers_reasons(peer, members, "a director or a proxy", reasons));
}

static int fleet_examine(struct fleet *fleet, struct peers *peers, unsigned timeout_s, bool json)
{
	int code;

	if (!peers_ask(peers, wanted, timeout_s))
		return FINDINGS_FAILED;
	findings_open(&fleet->findings);
	fleet->findings.check = "reachable";
	for (size_t i = 0; i < peers->count; i++)
		report_host(fleet, &peers->items[i]);
	fleet_check(fleet);
	code = findings_print(&fleet->findings, "host", "fleet", json);
	findings_close(&fleet->findings);
	return code;
}

int fleet_run(char *const words[], size_t count, const char *file, unsigned timeout_s, bool json)
{
	struct peers peers = {.what = "doctor --fleet"};
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	int code = FINDINGS_FAILED;

	if (!fleet)
		command_error("out of memory");
	else if (peers_read(&peers, words, count, file) == COMMAND_OK) {
		if (peers.count)
			code = fleet_examine(fleet, &peers, timeout_s, json);
		else
			command_usage("doctor --fleet: name the directors and the proxies");
	}
	peers_free(&peers);
	free(fleet);
	return code;
}
