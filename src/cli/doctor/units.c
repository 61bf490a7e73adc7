/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the systemd units. */
#include <errno.h>
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

static void report_disabled(struct doctor *doctor, const struct unit *unit)
{
	const char *command;

	command = host_command("systemctl%s%s enable%s %s", doctor->is_copy ? " --root=" : "", doctor->host.root,
		doctor->is_copy ? "" : " --now", unit->name);
	findings_add(&doctor->findings, FINDINGS_WARN, unit->name, command,
		"it is not enabled, so it does not start with this host, and %s", unit->without);
}

static void report_state(struct doctor *doctor, const struct unit *unit, const char *block)
{
	char active[HOST_ENTRY_MAX], result[HOST_ENTRY_MAX], file[HOST_ENTRY_MAX], restarts[HOST_ENTRY_MAX];
	char reload[HOST_ENTRY_MAX];
	const char *command;

	value_of(block, "ActiveState", active);
	value_of(block, "UnitFileState", file);
	command = host_command("systemctl restart %s", unit->name);
	if (strcmp(active, "failed") == 0)
		findings_add(&doctor->findings, FINDINGS_FAIL, unit->name, command,
			"it failed (%s), so %s: journalctl -u %s -n 50 has the reason",
			value_of(block, "Result", result), unit->without, unit->name);
	else if (strcmp(file, "disabled") == 0)
		report_disabled(doctor, unit);
	else if (strcmp(active, "inactive") == 0 && !unit->ends)
		findings_add(
			&doctor->findings, FINDINGS_FAIL, unit->name, command, "it does not run, so %s", unit->without);
	else if (strcmp(value_of(block, "NeedDaemonReload", reload), "yes") == 0)
		findings_add(&doctor->findings, FINDINGS_WARN, unit->name, "systemctl daemon-reload",
			"its file was changed after systemd read it, so the next start would use the old one");
	else if (atoi(value_of(block, "NRestarts", restarts)) >= MANY_RESTARTS)
		findings_add(&doctor->findings, FINDINGS_WARN, unit->name, NULL,
			"systemd had to restart it %s times, and each end loses packets or checks: journalctl -u %s has the reasons",
			restarts, unit->name);
	else
		doctor_ok(doctor, unit->name, "%s, %s", file, active);
}

/* Reports what `systemctl show` says of a unit that systemd has not loaded. */
static void report_unloaded(struct doctor *doctor, const struct unit *unit, const char *load)
{
	if (!*load)
		doctor_ok(doctor, unit->name, "not known: 'systemctl show' printed no LoadState");
	else if (strcmp(load, "not-found") == 0)
		doctor_ok(doctor, unit->name, "not needed: the unit is not installed");
	else if (strcmp(load, "masked") == 0)
		findings_add(&doctor->findings, FINDINGS_WARN, unit->name,
			host_command("systemctl unmask %s", unit->name),
			"it is masked, so it does not start with this host, and %s", unit->without);
	else
		findings_add(&doctor->findings, FINDINGS_FAIL, unit->name, NULL,
			"systemd cannot load its file (%s), so %s at the next start: systemctl status %s has the reason",
			load, unit->without, unit->name);
}

/* Asks systemd. */
static void report_live(struct doctor *doctor, const struct unit *unit)
{
	char name[HOST_ENTRY_MAX], load[HOST_ENTRY_MAX], *text;
	char *words[] = {"systemctl", "show",
		"--property=LoadState,ActiveState,Result,UnitFileState,NRestarts,NeedDaemonReload", name, NULL};
	size_t size;
	int error;

	snprintf(name, sizeof(name), "%s", unit->name);
	error = output_of(words, &text, &size);
	if (error)
		doctor_ok(doctor, unit->name, "not known: systemctl: %s", output_of_reason(error));
	else if (strcmp(value_of(text, "LoadState", load), "loaded") != 0)
		report_unloaded(doctor, unit, load);
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

static void report(struct doctor *doctor, const struct unit *unit)
{
	if (!doctor->is_copy)
		report_live(doctor, unit);
	else if (is_linked(doctor, unit))
		doctor_ok(doctor, unit->name, "enabled");
	else
		report_disabled(doctor, unit);
}

static void report_vf(struct doctor *doctor, const char *name)
{
	char text[HOST_ENTRY_MAX + 32];
	struct unit unit = {.name = text, .without = "the director finds no VF", .ends = true};

	snprintf(text, sizeof(text), "glb-bifurcate@%s.service", name);
	report(doctor, &unit);
}

void doctor_units(struct doctor *doctor)
{
	bool systemd = host_exists("/run/systemd/system");

	if (!doctor->is_copy && !systemd) {
		doctor_not_needed(doctor, "systemd does not run here");
		return;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const struct unit *unit = &units[i];

		if (!is_wanted(doctor, unit))
			doctor_ok(doctor, unit->name, "not needed: it is not configured");
		else
			report(doctor, unit);
	}
	doctor_vfs(doctor, report_vf);
}
