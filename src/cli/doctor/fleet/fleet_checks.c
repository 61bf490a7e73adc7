/* SPDX-License-Identifier: BSD-3-Clause */
/* What must be the same on all directors, and what proxies must accept. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor/fleet/fleet.h"
#include "common/netaddr.h"
#include "common/text.h"

/* Writes a label of the first sample of this name. Returns false, and "", if there is none. */
static bool label_of(
	const struct fleet_member *member, const char *name, const char *label, char value[SAMPLES_LABEL_MAX])
{
	size_t at = 0;
	const char *sample = samples_next(member->samples, name, &at);

	value[0] = '\0';
	return sample && samples_label(sample, label, value);
}

/* Writes the value that most members have, and returns how many have it. The first one wins if two are as frequent. */
static size_t most_frequent(const struct fleet_member *members, size_t count, const char *name, const char *label,
	char most[SAMPLES_LABEL_MAX])
{
	char one[SAMPLES_LABEL_MAX], other[SAMPLES_LABEL_MAX];
	size_t best = 0;

	most[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;

		label_of(&members[i], name, label, one);
		for (size_t j = 0; j < count; j++)
			same += label_of(&members[j], name, label, other) && strcmp(one, other) == 0;
		if (same > best) {
			best = same;
			memcpy(most, one, sizeof(one));
		}
	}
	return best;
}

static void check_digests(struct fleet *fleet)
{
	char most[SAMPLES_LABEL_MAX], own[SAMPLES_LABEL_MAX];
	size_t best = most_frequent(fleet->directors, fleet->director_count, "glb_director_table_info", "digest", most);

	fleet->findings.check = "digests";
	for (size_t i = 0; i < fleet->director_count; i++) {
		label_of(&fleet->directors[i], "glb_director_table_info", "digest", own);
		if (strcmp(own, most) != 0)
			findings_add(&fleet->findings, FINDINGS_FAIL, fleet->directors[i].name, NULL,
				"the digest of its table is %s, and that of %zu of %zu directors %s, so flows that move to or from it can break: compare the table files, then run systemctl reload glb-director there",
				own, best, fleet->director_count, most);
	}
	if (fleet->director_count && best == fleet->director_count)
		findings_add(&fleet->findings, FINDINGS_OK, "", NULL, "%zu director%s: digest %s",
			fleet->director_count, text_plural(fleet->director_count), most);
}

/* Adds findings about members of another version than most. */
static void check_versions(struct fleet *fleet, const struct fleet_member *members, size_t count, const char *name,
	const char *program, const char *mend)
{
	char most[SAMPLES_LABEL_MAX], own[SAMPLES_LABEL_MAX];
	size_t best = most_frequent(members, count, name, "version", most);

	for (size_t i = 0; i < count; i++) {
		label_of(&members[i], name, "version", own);
		if (strcmp(own, most) != 0)
			findings_add(&fleet->findings, FINDINGS_WARN, members[i].name, NULL,
				"its %s is version %s, and that of %zu of %zu hosts %s, so the hosts may behave differently: %s",
				program, own, best, count, most, mend);
	}
	if (count && best == count)
		findings_add(&fleet->findings, FINDINGS_OK, "", NULL, "%zu host%s: %s %s", count, text_plural(count),
			program, most);
}

static void check_health(struct fleet *fleet, const struct fleet_member *director)
{
	char state[SAMPLES_LABEL_MAX] = "unknown";
	const char *sample;
	bool degraded;

	for (size_t at = 0; (sample = samples_next(director->samples, "glb_director_health_state", &at));)
		if (samples_value(sample) == 1 && samples_label(sample, "state", state))
			break;
	degraded = strcmp(state, "degraded") == 0;
	if (strcmp(state, "ok") == 0)
		findings_add(&fleet->findings, FINDINGS_OK, director->name, NULL, "ok");
	else
		findings_add(&fleet->findings, degraded ? FINDINGS_WARN : FINDINGS_FAIL, director->name, NULL,
			"its health is %s, so %s: run glb-director-cli health there", state,
			degraded ? "something is lost or at risk" : "it should get no packets");
}

static void check_attached(struct fleet *fleet, const struct fleet_member *proxy)
{
	unsigned attached = 0, reported = 0;
	char interface[SAMPLES_LABEL_MAX];
	const char *sample;

	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_attached", &at));) {
		samples_label(sample, "interface", interface);
		attached += samples_value(sample) == 1;
		if (samples_value(sample) == 1)
			continue;
		reported++;
		findings_add(&fleet->findings, FINDINGS_FAIL, proxy->name, NULL,
			"its program no longer runs on %s, so packets of the directors reach no service: run glb-redirect attach %s there",
			interface, interface);
	}
	if (!attached && !reported)
		findings_add(&fleet->findings, FINDINGS_FAIL, proxy->name, NULL,
			"no program is attached, so packets of the directors reach no service: run glb-redirect attach IFACE there");
	else if (attached && !reported)
		findings_add(&fleet->findings, FINDINGS_OK, proxy->name, NULL, "the program is attached");
}

/* Returns whether allow_from of the interface has the address. *known: whether the proxy tells. */
static bool allows(const struct fleet_member *proxy, const char *interface, const struct netaddr *address, bool *known)
{
	char on[SAMPLES_LABEL_MAX], text[SAMPLES_LABEL_MAX];
	struct netprefix prefix;
	const char *sample;

	*known = false;
	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_allow_from_info", &at));) {
		if (!samples_label(sample, "interface", on) || strcmp(on, interface) != 0 ||
			!samples_label(sample, "prefix", text) || !netprefix_parse(text, &prefix, NULL))
			continue;
		*known = true;
		if (netprefix_covers(&prefix, address))
			return true;
	}
	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_allow_from_omitted", &at));)
		if (samples_label(sample, "interface", on) && strcmp(on, interface) == 0 && samples_value(sample) > 0)
			*known = false; /* one of those that it leaves out may have the address */
	return false;
}

/*
 * Adds findings about directors whose packets the program on the interface drops. Returns whether it did. *unknown
 * becomes true if there is no director, or one of which nothing tells whether it is allowed.
 */
static bool report_refused(struct fleet *fleet, const struct fleet_member *proxy, const char *interface, bool *unknown)
{
	char source[SAMPLES_LABEL_MAX];
	bool reported = false, allowed, known;
	struct netprefix address;

	*unknown |= !fleet->director_count;
	for (size_t i = 0; i < fleet->director_count; i++) {
		const struct fleet_member *director = &fleet->directors[i];

		if (!label_of(director, "glb_director_source_info", "address", source) ||
			!netprefix_parse(source, &address, NULL)) {
			*unknown = true;
			continue;
		}
		allowed = allows(proxy, interface, &address.addr, &known);
		*unknown |= !known;
		if (allowed || !known)
			continue;
		findings_add(&fleet->findings, FINDINGS_FAIL, proxy->name, NULL,
			"allow_from on %s does not have %s, the source address of %s, so it drops every packet of this director: add the address to redirect.conf there, and run glb-redirect reload %s",
			interface, source, director->name, interface);
		reported = true;
	}
	return reported;
}

static void check_senders(struct fleet *fleet, const struct fleet_member *proxy)
{
	char interface[SAMPLES_LABEL_MAX];
	bool reported = false, any = false, unknown = false;
	const char *sample;

	for (size_t at = 0; (sample = samples_next(proxy->samples, "glb_redirect_open_to_any_sender", &at));) {
		any = true;
		if (!samples_label(sample, "interface", interface))
			continue;
		if (samples_value(sample) != 1) {
			reported |= report_refused(fleet, proxy, interface, &unknown);
			continue;
		}
		findings_add(&fleet->findings, FINDINGS_WARN, proxy->name, NULL,
			"its program on %s is open to any sender, so everybody can send packets past the directors: set allow_from in redirect.conf there, and run glb-redirect reload %s",
			interface, interface);
		reported = true;
	}
	if (any && !reported)
		findings_add(&fleet->findings, FINDINGS_OK, proxy->name, NULL,
			unknown ? "not known: whether it refuses a director; it is not open to any sender"
				: "it refuses no director and is not open");
}

void fleet_check(struct fleet *fleet)
{
	fleet->findings.check = "health";
	for (size_t i = 0; i < fleet->director_count; i++)
		check_health(fleet, &fleet->directors[i]);
	check_digests(fleet);
	fleet->findings.check = "versions";
	check_versions(fleet, fleet->directors, fleet->director_count, "glb_director_build_info", "glb-director",
		"withdraw it, and restart it with the version that is installed on the others");
	check_versions(fleet, fleet->proxies, fleet->proxy_count, "glb_redirect_build_info", "glb-redirect",
		"install the version that the others have");
	fleet->findings.check = "attached";
	for (size_t i = 0; i < fleet->proxy_count; i++)
		check_attached(fleet, &fleet->proxies[i]);
	fleet->findings.check = "senders";
	for (size_t i = 0; i < fleet->proxy_count; i++)
		check_senders(fleet, &fleet->proxies[i]);
}
