/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the director that runs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/doctor/doctor.h"
#include "cli/live/snapshot.h"
#include "program/installed.h"

/* The reply may come a second after the moment that it describes. */
#define CLOCK_TOLERANCE_S 2

static const struct finding other_prefixes = {FINDINGS_WARN, NULL,
	"no director runs here with this --file-prefix, so the other findings are about the files of the unit; there are sockets for --file-prefix {1}"};
static const struct finding not_started = {
	FINDINGS_WARN, "systemctl start glb-director", "no director runs here, so this host forwards nothing"};
static const struct finding no_reply = {FINDINGS_FAIL, NULL, "the director does not reply: {1}"};
static const struct finding stopping = {FINDINGS_FAIL, NULL, "the director is stopping"};
static const struct finding failing_reason = {FINDINGS_FAIL, NULL, "{1}: {2}"};
static const struct finding degraded_reason = {FINDINGS_WARN, NULL, "{1}: {2}"};
static const struct finding other_version = {FINDINGS_WARN, "systemctl restart glb-director",
	"the director that runs is version {1}, and this program {2}: withdraw the director, then restart it to use what is installed"};
static const struct finding changed_conf = {FINDINGS_WARN, "systemctl restart glb-director",
	"it was changed after the director started, and the director reads it only at its start: withdraw the director, then restart it"};
static const struct finding failed_reload = {
	FINDINGS_WARN, "glb-director-cli reload", "the last reload failed, so the director uses an earlier table: {1}"};
static const struct finding other_table = {FINDINGS_WARN, "glb-director-cli reload",
	"its digest is {1}, and that of the director's table {2}: the director has not loaded it"};
static const struct finding other_unit = {FINDINGS_WARN, NULL,
	"the next start would use the table {1}, and the director that runs uses {2}: correct GLB_DIRECTOR_FORWARDING_TABLE, or restart the director"};

static void report_not_running(const struct doctor *doctor)
{
	struct finding finding = not_started;

	if (!host_exists("/run/systemd/system"))
		finding.command = NULL;
	if (doctor->director_error == EACCES || doctor->director_error == EPERM)
		findings_ok("", "not known: this user may not ask the director");
	else if (doctor->other_prefixes && *doctor->other_prefixes)
		findings_add(&other_prefixes, "", doctor->other_prefixes);
	else if (doctor->director_error == ENOENT || doctor->director_error == ECONNREFUSED)
		findings_add(&finding, "");
	else
		findings_add(&no_reply, "", doctor->director_fault);
}

static void report_health(const json_t *health)
{
	const char *state = member_text(health, "state"), *key;
	json_t *reason;

	if (strcmp(state, "stopping") == 0)
		findings_add(&stopping, "");
	else if (!json_object_size(json_object_get(health, "reasons")))
		findings_ok("", "its health is %s", state);
	json_object_foreach(json_object_get(health, "reasons"), key, reason)
	{
		bool failing = strcmp(member_text(reason, "severity"), "failing") == 0;

		telemetry_join_text(reason, "text");
		findings_add(failing ? &failing_reason : &degraded_reason, member_text(reason, "object"),
			member_text(reason, "cause"), member_text(reason, "text"));
	}
}

void doctor_director(void *subject)
{
	const struct doctor *doctor = subject;

	if (doctor->is_copy)
		findings_ok("", "not needed: " DOCTOR_COPY);
	else if (doctor->running)
		report_health(doctor->director.health);
	else
		report_not_running(doctor);
}

void doctor_versions(void *subject)
{
	const struct doctor *doctor = subject;
	const char *version = member_text(doctor->director.stats, "version");

	if (!doctor->running)
		findings_ok("", "glb-director-cli %s; " DOCTOR_NOT_RUNNING, GLB_VERSION);
	else if (strcmp(version, GLB_VERSION) != 0)
		findings_add(&other_version, "", version, GLB_VERSION);
	else
		findings_ok("", "the director and this program are version %s", version);
}

/* The director reads director.conf only when it starts. */
static void report_changed_conf(const struct doctor *doctor)
{
	time_t started = time(NULL) - (time_t)member_number(doctor->director.stats, "uptime");
	struct stat file;

	if (stat(doctor->conf_path, &file) == 0 && file.st_mtime > started + CLOCK_TOLERANCE_S)
		findings_add(&changed_conf, doctor->conf_path);
}

static void report_other_table(const struct doctor *doctor)
{
	const char *digest = member_text(doctor->director.stats, "digest");
	const char *failure = member_text(doctor->director.stats, "last_error");
	const char *own = findings_value("%016" PRIx64, doctor->table_error ? 0 : table_set_digest(&doctor->table));

	if (*failure)
		findings_add(&failed_reload, doctor->table_path, failure);
	else if (!doctor->table_error && strcmp(own, digest) != 0)
		findings_add(&other_table, doctor->table_path, own, digest);
}

void doctor_loaded(void *subject)
{
	const struct doctor *doctor = subject;
	const char *path = member_text(doctor->director.stats, "table_path");

	if (!doctor->running) {
		findings_ok("", "not needed: %s", doctor->is_copy ? DOCTOR_COPY : DOCTOR_NOT_RUNNING);
		return;
	}
	report_changed_conf(doctor);
	report_other_table(doctor);
	/* The settings of the unit apply to the next start. */
	if (doctor->unit_table_path && strcmp(path, doctor->unit_table_path) != 0)
		findings_add(&other_unit, doctor->environment_path, doctor->unit_table_path, path);
	if (findings_none() && (doctor->table_error || !host_exists(doctor->conf_path)))
		findings_ok("", "not known: " DOCTOR_UNREADABLE);
	else if (findings_none())
		findings_ok("", "the director uses director.conf and the table as they are, digest %s",
			member_text(doctor->director.stats, "digest"));
}
