/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of redirect.conf, and of what the attached program knows of it and of this host's addresses. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redirect/check/check.h"
#include "redirect/host/host.h"
#include "redirect/kernel/pins.h"

struct fault_list {
	struct check *check;
	const char *file;
};

static void add_fault(void *context, bool warning, const char *text)
{
	const struct fault_list *list = context;
	size_t size = strlen(list->file);

	/* The text begins with the file, and perhaps the line, but the finding names the file already. */
	if (strncmp(text, list->file, size) == 0 && text[size] == ':')
		text += size + 1 + (text[size + 1] == ' ');
	check_add(list->check, warning ? FINDINGS_WARN : FINDINGS_FAIL, list->file, NULL, "%s%s",
		isdigit((unsigned char)*text) ? "line " : "", text);
}

static bool has_prefix(const struct redirect_prefixes *prefixes, const struct netprefix *wanted)
{
	for (size_t i = 0; i < prefixes->count; i++)
		if (prefixes->items[i].length == wanted->length &&
			netaddr_compare(&prefixes->items[i].addr, &wanted->addr) == 0)
			return true;
	return prefixes->any;
}

static bool is_subset(const struct redirect_prefixes *prefixes, const struct redirect_prefixes *of)
{
	for (size_t i = 0; i < prefixes->count; i++)
		if (!has_prefix(of, &prefixes->items[i]))
			return false;
	return true;
}

/* Returns whether the program's list is another one than that of the file. */
static bool differs(const struct lists *lists, enum redirect_list list, const struct redirect_prefixes *wanted)
{
	struct redirect_prefixes known = {0};
	bool result = false;

	if (lists_read(lists, list, &known) == 0)
		result = known.any != wanted->any || !is_subset(&known, wanted) || !is_subset(wanted, &known);
	free(known.items);
	return result;
}

/* The attached program has what the file said when it was attached or reloaded. */
static bool report_old_file(struct check *check, const struct lists *lists)
{
	const struct check_subject *subject = check->subject;
	const struct redirect_conf *conf = &subject->conf;
	char command[FINDINGS_COMMAND_MAX];

	if (strcmp(subject->config_file, subject->settings.config_file) != 0 ||
		(conf->max_hops == subject->settings.max_hops && conf->allow_to_local == subject->settings.allow_to_local &&
			!differs(lists, REDIRECT_LIST_FROM, &conf->allow_from) &&
			(conf->allow_to_local || !differs(lists, REDIRECT_LIST_TO, &conf->allow_to)) &&
			!differs(lists, REDIRECT_LIST_NEXT_HOP, &conf->next_hops)))
		return false;
	snprintf(command, sizeof(command), "glb-redirect reload %s", subject->interface);
	check_add(check, FINDINGS_WARN, subject->config_file, command,
		"it was changed since the program was attached or reloaded");
	return true;
}

static bool covers(const struct redirect_prefixes *prefixes, const struct netaddr *address)
{
	for (size_t i = 0; i < prefixes->count; i++)
		if (netprefix_covers(&prefixes->items[i], address))
			return true;
	return prefixes->any;
}

/* The program refuses packets for addresses that this host got after it was attached. */
static bool report_unknown_addresses(struct check *check, const struct lists *lists)
{
	const struct check_subject *subject = check->subject;
	char command[FINDINGS_COMMAND_MAX], text[NETPREFIX_TEXT_MAX];
	struct redirect_prefixes known = {0};
	bool reported = false;
	struct host host;

	if (host_read(subject->link->index, &host) != 0)
		return false;
	snprintf(command, sizeof(command), "glb-redirect reload %s", subject->interface);
	if (lists_read(lists, REDIRECT_LIST_LOCAL, &known) == 0)
		for (size_t i = 0; i < host.local_count && !reported; i++)
			if (!covers(&known, &host.local[i].addr)) {
				check_add(check, FINDINGS_FAIL, netprefix_format(&host.local[i], text), command,
					"this host got the address after the program was attached or reloaded, so the program refuses packets for it: glb-redirect-follow.service would tell it");
				reported = true;
			}
	free(known.items);
	host_free(&host);
	return reported;
}

static bool check_attached(struct check *check)
{
	struct pins pins;
	bool reported = false;

	if (!check->subject->attached || pins_open(check->subject->interface, &pins) != 0)
		return false;
	if (pins.lists.prefixes >= 0) {
		reported = report_unknown_addresses(check, &pins.lists);
		reported |= report_old_file(check, &pins.lists);
	}
	pins_close(&pins);
	return reported;
}

/* A VIP of --vip, or an address of lo, that the file does not name. */
static bool report_refused_vip(struct check *check)
{
	const struct check_subject *subject = check->subject;
	const struct redirect_conf *conf = &subject->conf;
	char text[NETPREFIX_TEXT_MAX];
	bool reported = false;

	for (size_t i = 0; i < subject->vips.count && !conf->allow_to_local; i++) {
		if (covers(&conf->allow_to, &subject->vips.items[i].addr))
			continue;
		check_add(check, FINDINGS_FAIL, netprefix_format(&subject->vips.items[i], text), NULL,
			"allow_to in %s does not have it, so the program drops packets for it", subject->config_file);
		reported = true;
	}
	return reported;
}

void check_allow(struct check *check)
{
	const struct check_subject *subject = check->subject;
	struct fault_list list = {.check = check, .file = subject->config_file};
	bool reported;

	faults_report(&subject->faults, FAULTS_ALL, add_fault, &list);
	if (subject->faults.errors)
		return;
	if (subject->hidden && !*subject->config_file) {
		check_ok(check, "not known: the pins of the program cannot be read");
		return;
	}
	reported = report_refused_vip(check);
	if (check_attached(check))
		reported = true;
	if (subject->conf.allow_from.any) {
		check_add(check, FINDINGS_WARN, subject->interface, NULL,
			"open to any sender: whoever reaches the UDP port of GUE can send packets past the firewall: attach with a --config-file that lists directors and proxies as allow_from");
		reported = true;
	}
	if (!reported)
		check_ok(check, "only allow_from in %s may send to this host", subject->config_file);
}
