/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the director that runs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/doctor/doctor.h"
#include "cli/live/snapshot.h"
#include "program/installed.h"

#define NOT_RUNNING "no director runs"
#define COPY        "nothing runs in a copy of a host"

/* The reply may come a second after the moment that it describes. */
#define CLOCK_TOLERANCE_S 2

static void report_not_running(struct doctor *doctor)
{
	if (doctor->director_error == EACCES || doctor->director_error == EPERM)
		doctor_ok(doctor, "", "not known: this user may not ask the director");
	else if (doctor->other_prefixes && *doctor->other_prefixes)
		findings_add(&doctor->findings, FINDINGS_WARN, "", NULL,
			"no director runs here with this --file-prefix, so the other findings are about the files of the unit; there are sockets for --file-prefix %s",
			doctor->other_prefixes);
	else if (doctor->director_error == ENOENT || doctor->director_error == ECONNREFUSED)
		findings_add(&doctor->findings, FINDINGS_WARN, "",
			host_exists("/run/systemd/system") ? "systemctl start glb-director" : NULL,
			"no director runs here, so this host forwards nothing");
	else
		findings_add(&doctor->findings, FINDINGS_FAIL, "", NULL, "the director does not reply: %s",
			doctor->director_fault);
}

void doctor_director(struct doctor *doctor)
{
	const json_t *health = doctor->director.health;
	const char *state = snapshot_text(health, "state"), *key;
	json_t *reason;

	if (doctor->is_copy || !doctor->running) {
		if (doctor->is_copy)
			doctor_not_needed(doctor, COPY);
		else
			report_not_running(doctor);
		return;
	}
	if (strcmp(state, "stopping") == 0)
		findings_add(&doctor->findings, FINDINGS_FAIL, "", NULL, "the director is stopping");
	else if (!json_object_size(json_object_get(health, "reasons")))
		doctor_ok(doctor, "", "its health is %s", state);
	json_object_foreach(json_object_get(health, "reasons"), key, reason)
	{
		bool failing = strcmp(snapshot_text(reason, "severity"), "failing") == 0;

		telemetry_join_text(reason, "text");
		findings_add(&doctor->findings, failing ? FINDINGS_FAIL : FINDINGS_WARN, snapshot_text(reason, "object"),
			NULL, "%s: %s", snapshot_text(reason, "cause"), snapshot_text(reason, "text"));
	}
}

void doctor_versions(struct doctor *doctor)
{
	const char *version = snapshot_text(doctor->director.stats, "version");

	if (!doctor->running)
		doctor_ok(doctor, "", "glb-director-cli %s; " NOT_RUNNING, GLB_VERSION);
	else if (strcmp(version, GLB_VERSION) != 0)
		findings_add(&doctor->findings, FINDINGS_WARN, "", "systemctl restart glb-director",
			"the director that runs is version %s, and this program %s: withdraw the director, then restart it to use what is installed",
			version, GLB_VERSION);
	else
		doctor_ok(doctor, "", "the director and this program are version %s", version);
}

/* The director reads director.conf only when it starts. */
static bool report_changed_conf(struct doctor *doctor)
{
	time_t started = time(NULL) - (time_t)snapshot_number(doctor->director.stats, "uptime");
	struct stat file;

	if (stat(doctor->conf_path, &file) != 0 || file.st_mtime <= started + CLOCK_TOLERANCE_S)
		return false;
	findings_add(&doctor->findings, FINDINGS_WARN, doctor->conf_path, "systemctl restart glb-director",
		"it was changed after the director started, and the director reads it only at its start: withdraw the director, then restart it");
	return true;
}

static bool report_other_table(struct doctor *doctor)
{
	const char *digest = snapshot_text(doctor->director.stats, "digest");
	const char *failure = snapshot_text(doctor->director.stats, "last_error");
	char own[17];

	if (*failure) {
		findings_add(&doctor->findings, FINDINGS_WARN, doctor->table_path, "glb-director-cli reload",
			"the last reload failed, so the director uses an earlier table: %s", failure);
		return true;
	}
	if (doctor->table_error)
		return false;
	snprintf(own, sizeof(own), "%016" PRIx64, table_set_digest(&doctor->table));
	if (strcmp(own, digest) == 0)
		return false;
	findings_add(&doctor->findings, FINDINGS_WARN, doctor->table_path, "glb-director-cli reload",
		"its digest is %s, and that of the director's table %s: the director has not loaded it", own, digest);
	return true;
}

/* The settings of the unit apply to the next start. */
static bool report_other_unit(struct doctor *doctor)
{
	const char *path = snapshot_text(doctor->director.stats, "table_path");

	if (!doctor->unit_table_path || strcmp(path, doctor->unit_table_path) == 0)
		return false;
	findings_add(&doctor->findings, FINDINGS_WARN, doctor->environment_path, NULL,
		"the next start would use the table %s, and the director that runs uses %s: correct GLB_DIRECTOR_FORWARDING_TABLE, or restart the director",
		doctor->unit_table_path, path);
	return true;
}

void doctor_loaded(struct doctor *doctor)
{
	bool reported;

	if (!doctor->running) {
		doctor_not_needed(doctor, doctor->is_copy ? COPY : NOT_RUNNING);
		return;
	}
	reported = report_changed_conf(doctor);
	reported |= report_other_table(doctor);
	reported |= report_other_unit(doctor);
	if (!reported && (doctor->table_error || !host_exists(doctor->conf_path)))
		doctor_ok(doctor, "", "not known: director.conf or the table cannot be read");
	else if (!reported)
		doctor_ok(doctor, "", "the director uses director.conf and the table as they are, digest %s",
			snapshot_text(doctor->director.stats, "digest"));
}
