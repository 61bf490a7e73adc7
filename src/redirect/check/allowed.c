/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of redirect.conf, and of what the attached program knows of it and of this host's addresses. */
#include <stdlib.h>
#include <string.h>

#include "redirect/check/check.h"
#include "redirect/host/host.h"
#include "redirect/kernel/pins.h"

static const struct finding old_file = {
	FINDINGS_WARN, "glb-redirect reload {1}", "it was changed since the program was attached or reloaded"};
static const struct finding unknown_address = {FINDINGS_FAIL, "glb-redirect reload {1}",
	"this host got the address after the program was attached or reloaded, so the program refuses packets for it: glb-redirect-follow.service would tell it"};
static const struct finding refused_vip = {
	FINDINGS_FAIL, NULL, "allow_to in {1} does not have it, so the program drops packets for it"};
static const struct finding no_server_id = {FINDINGS_WARN, NULL,
	"no address of this host has a server ID in {1}, so its QUIC connections do not follow their connection IDs: add one to the backend"};
static const struct finding open = {FINDINGS_WARN, NULL,
	"open to any sender: whoever reaches the UDP port of GUE can send packets past the firewall: attach with a --config-file that lists directors and proxies as allow_from"};

static bool is_subset(const struct redirect_prefixes *prefixes, const struct redirect_prefixes *of)
{
	for (size_t i = 0; i < prefixes->count; i++)
		if (!netprefix_is_in(of->items, of->count, &prefixes->items[i]))
			return false;
	return true;
}

/* Returns whether the program's list is another one than that of the file. A prefix for all addresses of one family
 * says nothing about the other. */
static bool differs(const struct lists *lists, enum redirect_list list, const struct redirect_prefixes *wanted)
{
	static struct netprefix whole[] = {{.addr.family = NETADDR_V4}, {.addr.family = NETADDR_V6}};
	const struct redirect_prefixes any = {.items = whole, .count = 2};
	struct redirect_prefixes known = {0};
	bool result = false;

	wanted = wanted->any ? &any : wanted;
	if (lists_read(lists, list, &known) == 0)
		result = !is_subset(&known, wanted) || !is_subset(wanted, &known);
	free(known.items);
	return result;
}

/* The attached program has what the file said when it was attached or reloaded. */
static void report_old_file(const struct check *check, const struct lists *lists)
{
	const struct redirect_conf *conf = &check->conf;

	if (strcmp(check->config_file, check->settings.config_file) == 0 &&
		(conf->max_hops != check->settings.max_hops || redirect_quic_digest(&conf->quic) != check->settings.quic ||
			conf->allow_to_local != check->settings.allow_to_local ||
			differs(lists, REDIRECT_LIST_FROM, &conf->allow_from) ||
			(!conf->allow_to_local && differs(lists, REDIRECT_LIST_TO, &conf->allow_to)) ||
			differs(lists, REDIRECT_LIST_NEXT_HOP, &conf->next_hops)))
		findings_add(&old_file, check->config_file, check->interface);
}

static bool covers(const struct redirect_prefixes *prefixes, const struct netaddr *address)
{
	for (size_t i = 0; i < prefixes->count; i++)
		if (netprefix_covers(&prefixes->items[i], address))
			return true;
	return prefixes->any;
}

/* The program refuses packets for addresses that this host got after it was attached. Reports the first one. */
static void report_unknown_addresses(const struct check *check, const struct lists *lists)
{
	struct redirect_prefixes known = {0};
	char text[NETPREFIX_TEXT_MAX];
	struct host host;
	size_t i = 0;

	if (host_read(check->link->index, &host) != 0)
		return;
	if (lists_read(lists, REDIRECT_LIST_LOCAL, &known) == 0) {
		while (i < host.local_count && covers(&known, &host.local[i].addr))
			i++;
		if (i < host.local_count)
			findings_add(&unknown_address, netprefix_format(&host.local[i], text), check->interface);
	}
	free(known.items);
	host_free(&host);
}

static void check_attached(const struct check *check)
{
	struct pins pins;

	if (!check->attached || pins_open(check->interface, &pins) != 0)
		return;
	if (pins.lists.prefixes >= 0) {
		report_unknown_addresses(check, &pins.lists);
		report_old_file(check, &pins.lists);
	}
	pins_close(&pins);
}

/* A VIP of --vip, or an address of lo, that the file does not name. */
static void report_refused_vips(const struct check *check)
{
	char text[NETPREFIX_TEXT_MAX];

	for (size_t i = 0; i < check->vips.count && !check->conf.allow_to_local; i++)
		if (!covers(&check->conf.allow_to, &check->vips.items[i].addr))
			findings_add(&refused_vip, netprefix_format(&check->vips.items[i], text), check->config_file);
}

/* A table may know other hosts only. */
static void report_no_server_id(const struct check *check)
{
	const struct redirect_quic_conf *quic = &check->conf.quic;
	struct host host;
	struct redirect_prefixes local;
	bool found = false;

	if (!quic->count || host_read(check->link->index, &host) != 0)
		return;
	local = (struct redirect_prefixes){.count = host.local_count, .items = host.local};
	for (size_t i = 0; i < quic->server_count && !found; i++)
		found = quic->servers[i].is_self || covers(&local, &quic->servers[i].addr);
	if (!found)
		findings_add(&no_server_id, check->interface, quic->table);
	host_free(&host);
}

void check_allow(void *subject)
{
	const struct check *check = subject;

	findings_add_faults(&check->faults, FAULTS_ALL, NULL);
	if (check->faults.errors)
		return;
	if (check->hidden && !*check->config_file) {
		findings_ok(check->interface, "not known: the pins of the program cannot be read");
		return;
	}
	report_refused_vips(check);
	report_no_server_id(check);
	check_attached(check);
	if (check->conf.allow_from.any)
		findings_add(&open, check->interface);
	if (findings_none())
		findings_ok(check->interface, "only allow_from in %s may send to this host", check->config_file);
}
