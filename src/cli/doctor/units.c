/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the systemd units. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "program/installed.h"
#include "program/output_of.h"

#define MANY_RESTARTS 3

/* A unit that a director's host can have. */
struct unit {
	const char *name;
	const char *configuration; /* the unit is wanted if this file exists */
	const char *without; /* what happens if the unit does not run */
	bool ends; /* its process ends when it is done */
};

static const struct unit units[] = {
	{"glb-director.service", INSTALLED_DIRECTOR_CONF, "this host forwards nothing", false},
	/* The package brings the file, so the unit is wanted only with the table that it reads. */
	{"glb-healthcheck.service", INSTALLED_HEALTHCHECK_CONF, "proxies that fail stay in the table", false},
	{"glb-announce.service", INSTALLED_ANNOUNCE_CONF, "the VIPs of this director are not announced", false},
};

static const struct finding disabled = {
	FINDINGS_WARN, "systemctl{2} enable{3} {0}", "it is not enabled, so it does not start with this host, and {1}"};
static const struct finding failed = {
	FINDINGS_FAIL, "systemctl restart {0}", "it failed ({2}), so {1}: journalctl -u {0} -n 50 has the reason"};
static const struct finding inactive = {FINDINGS_FAIL, "systemctl restart {0}", "it does not run, so {1}"};
static const struct finding stale = {FINDINGS_WARN, "systemctl daemon-reload",
	"its file was changed after systemd read it, so the next start would use the old one"};
static const struct finding restarted = {FINDINGS_WARN, NULL,
	"systemd had to restart it {1} times, and each end loses packets or checks: journalctl -u {0} has the reasons"};
static const struct finding masked = {
	FINDINGS_WARN, "systemctl unmask {0}", "it is masked, so it does not start with this host, and {1}"};
static const struct finding not_loaded = {FINDINGS_FAIL, NULL,
	"systemd cannot load its file ({2}), so {1} at the next start: systemctl status {0} has the reason"};

/* Cuts the value of a line "KEY=VALUE" in what `systemctl show` prints for a unit. "": there is none. */
static const char *value_of(const char *block, const char *key, char value[HOST_ENTRY_MAX])
{
	size_t size = strlen(key);

	value[0] = '\0';
	for (const char *line = block; line && *line && *line != '\n';
		line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (strncmp(line, key, size) == 0 && line[size] == '=')
			snprintf(value, HOST_ENTRY_MAX, "%.*s", (int)strcspn(line + size + 1, "\n"), line + size + 1);
	return value;
}

static bool is_wanted(const struct doctor *doctor, const struct unit *unit)
{
	return host_exists(host_path(&doctor->host, "%s", unit->configuration)) &&
	       (strcmp(unit->configuration, INSTALLED_HEALTHCHECK_CONF) != 0 || host_exists(doctor->source_path));
}

static void report_disabled(const struct doctor *doctor, const struct unit *unit)
{
	const char *root = doctor->is_copy ? findings_value(" --root=%s", doctor->host.root) : "";

	findings_add(&disabled, unit->name, unit->without, root, doctor->is_copy ? "" : " --now");
}

static void report_state(const struct doctor *doctor, const struct unit *unit, const char *block)
{
	char active[HOST_ENTRY_MAX], file[HOST_ENTRY_MAX], restarts[HOST_ENTRY_MAX], value[HOST_ENTRY_MAX];

	value_of(block, "ActiveState", active);
	value_of(block, "UnitFileState", file);
	if (strcmp(active, "failed") == 0)
		findings_add(&failed, unit->name, unit->without, value_of(block, "Result", value));
	else if (strcmp(file, "disabled") == 0)
		report_disabled(doctor, unit);
	else if (strcmp(active, "inactive") == 0 && !unit->ends)
		findings_add(&inactive, unit->name, unit->without);
	else if (strcmp(value_of(block, "NeedDaemonReload", value), "yes") == 0)
		findings_add(&stale, unit->name);
	else if (atoi(value_of(block, "NRestarts", restarts)) >= MANY_RESTARTS)
		findings_add(&restarted, unit->name, restarts);
	else
		findings_ok(unit->name, "%s, %s", file, active);
}

/* Reports what `systemctl show` says of a unit that systemd has not loaded. */
static void report_unloaded(const struct unit *unit, const char *load)
{
	if (!*load)
		findings_ok(unit->name, "not known: 'systemctl show' printed no LoadState");
	else if (strcmp(load, "not-found") == 0)
		findings_ok(unit->name, "not needed: the unit is not installed");
	else
		findings_add(strcmp(load, "masked") == 0 ? &masked : &not_loaded, unit->name, unit->without, load);
}

/* Asks systemd. */
static void report_live(const struct doctor *doctor, const struct unit *unit)
{
	char name[HOST_ENTRY_MAX], load[HOST_ENTRY_MAX], *text;
	char *words[] = {"systemctl", "show",
		"--property=LoadState,ActiveState,Result,UnitFileState,NRestarts,NeedDaemonReload", name, NULL};
	size_t size;
	int error;

	snprintf(name, sizeof(name), "%s", unit->name);
	error = output_of(words, &text, &size);
	if (error)
		findings_ok(unit->name, "not known: systemctl: %s", output_of_reason(error));
	else if (strcmp(value_of(text, "LoadState", load), "loaded") != 0)
		report_unloaded(unit, load);
	else
		report_state(doctor, unit, text);
	free(text);
}

/* Returns whether `systemctl enable` has made its link, whose target may be missing below the root. */
static bool is_linked(const struct doctor *doctor, const struct unit *unit)
{
	char target[HOST_ENTRY_MAX];

	return host_link(host_path(&doctor->host, "/etc/systemd/system/multi-user.target.wants/%s", unit->name), target);
}

static void report(const struct doctor *doctor, const struct unit *unit)
{
	if (!doctor->is_copy)
		report_live(doctor, unit);
	else if (is_linked(doctor, unit))
		findings_ok(unit->name, "enabled");
	else
		report_disabled(doctor, unit);
}

static void report_vf(const struct doctor *doctor, const char *name)
{
	char text[HOST_ENTRY_MAX + 32];
	struct unit unit = {.name = text, .without = "the director finds no VF", .ends = true};

	snprintf(text, sizeof(text), "glb-bifurcate@%s.service", name);
	report(doctor, &unit);
}

void doctor_units(void *subject)
{
	const struct doctor *doctor = subject;

	if (!doctor->is_copy && !host_exists("/run/systemd/system")) {
		findings_ok("", "not needed: systemd does not run here");
		return;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const struct unit *unit = &units[i];

		if (!is_wanted(doctor, unit))
			findings_ok(unit->name, "not needed: it is not configured");
		else
			report(doctor, unit);
	}
	doctor_vfs(doctor, report_vf);
}
