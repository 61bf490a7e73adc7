/* SPDX-License-Identifier: BSD-3-Clause */
/* What must be the same on all directors, and what proxies must accept. */
#include <string.h>

#include "cli/doctor/fleet/fleet.h"
#include "common/netaddr.h"
#include "common/text.h"

#define OTHER_VERSION "is version {1}, and that of {2} of {3} hosts {4}, so the hosts may behave differently: "

static const struct finding other_digest = {FINDINGS_FAIL, NULL,
	"the digest of its table is {1}, and that of {2} of {3} directors {4}, so flows that move to or from it can break: compare the table files, then run systemctl reload glb-director there"};
static const struct finding other_first_hops = {FINDINGS_FAIL, NULL,
	"the digest of its first hops is {1}, and that of {2} of {3} directors {4}, so flows that move to or from it can break: compare the table files, then run systemctl reload glb-director there"};
static const struct finding other_director = {FINDINGS_WARN, NULL,
	"its glb-director " OTHER_VERSION "withdraw it, and restart it with the version that is installed on the others"};
static const struct finding other_agent = {FINDINGS_WARN, NULL,
	"its glb-fleet " OTHER_VERSION "install the version that the others have, and restart glb-fleet"};
static const struct finding other_proxy = {
	FINDINGS_WARN, NULL, "its glb-redirect " OTHER_VERSION "install the version that the others have"};
static const struct finding degraded = {
	FINDINGS_WARN, NULL, "its health is {1}, so something is lost or at risk: run glb-director-cli health there"};
static const struct finding record_degraded = {
	FINDINGS_WARN, NULL, "it is not healthy: {1}: run glb-director-cli health there"};
static const struct finding record_unhealthy = {
	FINDINGS_FAIL, NULL, "it is not healthy, so it may not forward: {1}: run glb-director-cli health there"};
static const struct finding not_ok = {
	FINDINGS_FAIL, NULL, "its health is {1}, so it should get no packets: run glb-director-cli health there"};
static const struct finding program_detached = {FINDINGS_FAIL, NULL,
	"its program no longer runs on {1}, so packets of the directors reach no service: run glb-redirect attach {1} there"};
static const struct finding not_attached = {FINDINGS_FAIL, NULL,
	"no program is attached, so packets of the directors reach no service: run glb-redirect attach IFACE there"};
static const struct finding refuses = {FINDINGS_FAIL, NULL,
	"allow_from on {1} does not have {2}, the source address of {3}, so it drops every packet of this director: add the address to redirect.conf there, and run glb-redirect reload {1}"};
static const struct finding open = {FINDINGS_WARN, NULL,
	"its program on {1} is open to any sender, so everybody can send packets past the directors: set allow_from in redirect.conf there, and run glb-redirect reload {1}"};

#define OLD_REDIRECT "its glb-redirect does not take outer IPv6, "
#define NEW_REDIRECT ": install the version of glb-redirect that belongs to the director's"

static const struct finding ipv4_only = {FINDINGS_WARN, NULL,
	OLD_REDIRECT "which {1} sends as soon as a table has this proxy with an IPv6 address" NEW_REDIRECT};
static const struct finding no_ipv6 = {
	FINDINGS_FAIL, NULL, OLD_REDIRECT "and {1} sends nothing else, so its packets reach no service" NEW_REDIRECT};

/* Writes a label of the first sample of this name. Returns false, and "", if there is none. */
static bool label_of(
	const struct fleet_member *member, const char *name, const char *label, char value[SAMPLES_LABEL_MAX])
{
	size_t at = 0;
	const char *sample;

	if (member->record) {
		snprintf(value, SAMPLES_LABEL_MAX, "%s",
			strcmp(label, "version") == 0 ? member->record->version : member->record->first_hops);
		return true;
	}
	sample = samples_next(member->samples, name, &at);
	value[0] = '\0';
	return sample && samples_label(sample, label, value);
}

/*
 * Adds the finding about members whose label has another value than that of most members, which it writes. The first
 * value wins if two are as frequent. other: NULL adds no finding. Returns whether all are the same, and there is a
 * member.
 */
bool fleet_compare(const struct fleet_member *members, size_t count, const char *name, const char *label,
	const struct finding *other, char most[SAMPLES_LABEL_MAX])
{
	char one[SAMPLES_LABEL_MAX], two[SAMPLES_LABEL_MAX];
	size_t best = 0;

	most[0] = '\0';
	/* No other value is more frequent than that of more than half. */
	for (size_t i = 0; i < count && best <= count / 2; i++) {
		size_t same = 0;

		label_of(&members[i], name, label, one);
		for (size_t j = 0; j < count; j++)
			same += label_of(&members[j], name, label, two) && strcmp(one, two) == 0;
		if (same > best) {
			best = same;
			memcpy(most, one, sizeof(one));
		}
	}
	for (size_t i = 0; i < count; i++) {
		label_of(&members[i], name, label, one);
		if (other && strcmp(one, most) != 0)
			findings_add(other, members[i].name, one, findings_value("%zu", best),
				findings_value("%zu", count), most);
	}
	return count && best == count;
}

void fleet_digests(void *subject)
{
	const struct fleet *fleet = subject;
	const struct fleet_member *directors = fleet->directors;
	size_t count = fleet->director_count;
	const char *table = "glb_director_table_info";
	char most[SAMPLES_LABEL_MAX], first_hops[SAMPLES_LABEL_MAX];
	bool known = true; /* directors of older versions do not tell their first hops */

	for (size_t i = 0; i < count; i++)
		known &= label_of(&directors[i], table, "first_hops", first_hops) && first_hops[0];
	if (known && !fleet_compare(directors, count, table, "first_hops", &other_first_hops, first_hops))
		return;
	if (fleet_compare(directors, count, table, "digest", known ? NULL : &other_digest, most))
		findings_ok("", "%zu director%s: digest %s", count, text_plural(count), most);
	else if (known)
		findings_ok("",
			"%zu directors: first hops %s; later hops differ, as they do for a day after a failure that only some directors saw: if they differ for longer, compare the table files",
			count, first_hops);
}

static void check_versions(const struct fleet_member *members, size_t count, const char *name, const char *program,
	const struct finding *other)
{
	char most[SAMPLES_LABEL_MAX];

	if (fleet_compare(members, count, name, "version", other, most))
		findings_ok("", "%zu host%s: %s %s", count, text_plural(count), program, most);
}

void fleet_versions(void *subject)
{
	const struct fleet *fleet = subject;

	check_versions(
		fleet->directors, fleet->director_count, "glb_director_build_info", "glb-director", &other_director);
	check_versions(fleet->proxies, fleet->proxy_count, "glb_redirect_build_info", "glb-redirect", &other_proxy);
	check_versions(fleet->records, fleet->record_count, "", "glb-fleet", &other_agent);
}

static void check_health(const struct fleet_member *director)
{
	char state[SAMPLES_LABEL_MAX] = "unknown";
	const char *sample;

	for (size_t at = 0; (sample = samples_next(director->samples, "glb_director_health_state", &at));)
		if (samples_value(sample) == 1 && samples_label(sample, "state", state))
			break;
	if (strcmp(state, "ok") == 0)
		findings_ok(director->name, "ok");
	else
		findings_add(strcmp(state, "degraded") == 0 ? &degraded : &not_ok, director->name, state);
}

static void check_record(const struct rollout_director *record)
{
	if (record->healthy)
		findings_ok(record->name, "ok");
	else
		findings_add(strncmp(record->reasons, "degraded: ", 10) == 0 ? &record_degraded : &record_unhealthy,
			record->name, record->reasons);
}

void fleet_health(void *subject)
{
	const struct fleet *fleet = subject;

	for (size_t i = 0; i < fleet->director_count; i++)
		check_health(&fleet->directors[i]);
	for (size_t i = 0; i < fleet->record_count; i++)
		check_record(fleet->records[i].record);
}

static void check_attached(const struct fleet_member *proxy)
{
	unsigned attached = 0, detached = 0;
	char interface[SAMPLES_LABEL_MAX];
	const char *sample;

	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_attached", &at));) {
		samples_label(sample, "interface", interface);
		attached += samples_value(sample) == 1;
		detached += samples_value(sample) != 1;
		if (samples_value(sample) != 1)
			findings_add(&program_detached, proxy->name, interface);
	}
	if (!attached && !detached)
		findings_add(&not_attached, proxy->name);
	else if (!detached)
		findings_ok(proxy->name, "the program is attached");
}

void fleet_attached(void *subject)
{
	const struct fleet *fleet = subject;

	for (size_t i = 0; i < fleet->proxy_count; i++)
		check_attached(&fleet->proxies[i]);
}

#define SOURCES_MAX 2 /* one of each family */

/* Returns how many source addresses the director tells. */
static size_t sources_of(const struct fleet_member *director, struct netaddr sources[SOURCES_MAX])
{
	char text[SAMPLES_LABEL_MAX];
	size_t count = 0, at = 0;
	const char *sample;

	while (count < SOURCES_MAX && (sample = samples_next(director->samples, "glb_director_source_info", &at)))
		count += samples_label(sample, "address", text) && netaddr_parse(text, &sources[count]);
	return count;
}

/* Returns whether allow_from of the interface has the address. *known: whether the proxy tells. *family: whether
 * allow_from has prefixes of its family. */
static bool allows(const struct fleet_member *proxy, const char *interface, const struct netaddr *address, bool *known,
	bool *family)
{
	char on[SAMPLES_LABEL_MAX], text[SAMPLES_LABEL_MAX];
	struct netprefix prefix;
	const char *sample;

	*known = *family = false;
	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_allow_from_info", &at));) {
		if (!samples_label(sample, "interface", on) || strcmp(on, interface) != 0 ||
			!samples_label(sample, "prefix", text) || !netprefix_parse(text, &prefix, NULL))
			continue;
		*known = true;
		*family |= prefix.addr.family == address->family;
		if (netprefix_covers(&prefix, address))
			return true;
	}
	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_allow_from_omitted", &at));)
		if (samples_label(sample, "interface", on) && strcmp(on, interface) == 0 && samples_value(sample) > 0)
			*known = false; /* one of those that it leaves out may have the address */
	return false;
}

/*
 * Adds findings about the source addresses of a director whose packets the program on the interface drops. A proxy gets
 * packets of one family only, so its allow_from need not have both. Returns whether it did. *unknown becomes true if
 * nothing tells whether the director is allowed.
 */
static bool report_refused(
	const struct fleet_member *director, const struct fleet_member *proxy, const char *interface, bool *unknown)
{
	struct netaddr sources[SOURCES_MAX];
	size_t count = sources_of(director, sources);
	bool reported = false;

	*unknown |= !count;
	for (size_t i = 0; i < count; i++) {
		char text[NETADDR_TEXT_MAX];
		bool known, family;

		if (allows(proxy, interface, &sources[i], &known, &family))
			continue;
		*unknown |= !known;
		if (!known || (count > 1 && !family))
			continue;
		findings_add(&refuses, proxy->name, interface, netaddr_format(&sources[i], text), director->name);
		reported = true;
	}
	return reported;
}

static void check_senders(const struct fleet *fleet, const struct fleet_member *proxy)
{
	char interface[SAMPLES_LABEL_MAX];
	bool reported = false, any = false, unknown = false;
	const char *sample;

	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_open_to_any_sender", &at));) {
		any = true;
		if (!samples_label(sample, "interface", interface))
			continue;
		if (samples_value(sample) != 1) {
			unknown |= !fleet->director_count;
			for (size_t i = 0; i < fleet->director_count; i++)
				reported |= report_refused(&fleet->directors[i], proxy, interface, &unknown);
			continue;
		}
		findings_add(&open, proxy->name, interface);
		reported = true;
	}
	if (any && !reported)
		findings_ok(proxy->name, "%s",
			unknown ? "not known: whether it refuses a director; it is not open to any sender"
				: "it refuses no director and is not open");
}

void fleet_senders(void *subject)
{
	const struct fleet *fleet = subject;

	for (size_t i = 0; i < fleet->proxy_count; i++)
		check_senders(fleet, &fleet->proxies[i]);
}

static bool has_program(const struct fleet_member *proxy)
{
	size_t at = 0;

	return samples_next(proxy->samples, "glb_redirect_attached", &at);
}

/* Returns whether the program on an interface of the proxy takes outer IPv6. Older versions have no such metric. */
static bool takes_ipv6(const struct fleet_member *proxy)
{
	size_t at = 0;
	const char *sample = samples_next(proxy->samples, "glb_redirect_outer_ipv6", &at);

	while (sample && samples_value(sample) != 1)
		sample = samples_next(proxy->samples, "glb_redirect_outer_ipv6", &at);
	return sample;
}

void fleet_underlay(void *subject)
{
	const struct fleet *fleet = subject;
	const struct fleet_member *sender = NULL;
	bool ipv4 = true; /* the sender also has an IPv4 source */

	for (size_t i = 0; i < fleet->director_count && ipv4; i++) {
		struct netaddr sources[SOURCES_MAX];
		size_t count = sources_of(&fleet->directors[i], sources);
		bool ipv6 = count && sources[count - 1].family == NETADDR_V6; /* the IPv4 source is the first */

		sender = ipv6 ? &fleet->directors[i] : sender;
		ipv4 = !ipv6 || count > 1;
	}
	if (!sender) {
		findings_ok("", "not needed: no director sends outer IPv6");
		return;
	}
	for (size_t i = 0; i < fleet->proxy_count; i++)
		if (!has_program(&fleet->proxies[i]))
			findings_ok(fleet->proxies[i].name, "not known: no program is attached");
		else if (takes_ipv6(&fleet->proxies[i]))
			findings_ok(fleet->proxies[i].name, "it takes outer IPv6");
		else
			findings_add(ipv4 ? &ipv4_only : &no_ipv6, fleet->proxies[i].name, sender->name);
}
