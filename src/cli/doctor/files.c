/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the files of a director. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "common/file/file.h"
#include "common/text.h"
#include "program/installed.h"
#include "table/file/table_load.h"

void doctor_privileges(struct doctor *doctor)
{
	if (doctor->root_user)
		doctor_ok(doctor, "", "this process is root, so it sees everything that it checks");
	else
		findings_add(&doctor->findings, FINDINGS_WARN, "", NULL,
			"this process is not root, so it may see neither the running director nor files that only root may read: run glb-director-cli doctor as root");
}

/* Adds the first faults of a list. */
static void report_faults(
	struct doctor *doctor, const struct faults *faults, enum findings_level level, const char *path, bool warnings)
{
	const char *command;

	command = host_command("glb-director-cli check %s", path);
	for (size_t i = 0; i < faults->count; i++) {
		const char *text = faults->items[i].text;
		size_t size = strlen(path);

		if (faults->items[i].warning != warnings)
			continue;
		if (strncmp(text, path, size) == 0 && text[size] == ':')
			text += size + 1 + (text[size + 1] == ' ');
		findings_add(&doctor->findings, level, path, level == FINDINGS_FAIL ? command : NULL, "%s", text);
	}
}

/* Reports a file that cannot be used. what: "director.conf", mend: the command that makes it if it is missing. */
static void report_unusable(struct doctor *doctor, int error, const struct faults *faults, const char *path,
	const char *what, const char *mend)
{
	if (error == -ENOENT)
		findings_add(&doctor->findings, FINDINGS_FAIL, path, mend,
			"there is no %s, so the director does not start", what);
	else if (error == -EACCES || error == -EPERM)
		doctor_ok(doctor, path, "not known: this user may not read it");
	else
		report_faults(doctor, faults, FINDINGS_FAIL, path, false);
}

/* Adds a finding if healthcheck.conf is there and has errors. */
static void report_healthcheck(struct doctor *doctor)
{
	const char *path = host_path(&doctor->host, "%s", INSTALLED_HEALTHCHECK_CONF);

	if (!doctor->healthcheck.src && access(path, R_OK) == 0)
		findings_add(&doctor->findings, FINDINGS_FAIL, path, host_command("glb-director-cli check %s", path),
			"it has errors, so glb-healthcheck does not start, and proxies that fail stay in the table");
}

void doctor_configuration(struct doctor *doctor)
{
	unsigned before = doctor->findings.counts[FINDINGS_WARN];

	report_healthcheck(doctor);
	doctor_vf_configurations(doctor);
	if (doctor->conf_error) {
		report_unusable(doctor, doctor->conf_error, &doctor->conf_faults, doctor->conf_path, "director.conf",
			"glb-director-cli new --dir /etc/glb");
		return;
	}
	report_faults(doctor, &doctor->conf_faults, FINDINGS_WARN, doctor->conf_path, true);
	if (!doctor->running && !doctor->eal.port_count)
		findings_add(&doctor->findings, FINDINGS_FAIL, doctor->environment_path, NULL,
			"GLB_DIRECTOR_EAL_ARGS names no port, and no card is bound to vfio-pci, so the director does not start: name one with -a or --vdev");
	else if (doctor->findings.counts[FINDINGS_WARN] == before)
		doctor_ok(doctor, doctor->conf_path, "valid");
}

/* Compares what people write in tables. with_health: also the health of backends. The order of backends counts. */
static bool same_backends(const struct table *a, const struct table *b, bool with_health, bool with_states)
{
	if (a->backend_count != b->backend_count)
		return false;
	for (uint32_t i = 0; i < a->backend_count; i++) {
		const struct table_backend *x = &a->backends[i], *y = &b->backends[i];

		if (netaddr_compare(&x->addr, &y->addr) != 0 || (with_health && x->healthy != y->healthy) ||
			(with_states && x->state != y->state))
			return false;
	}
	return true;
}

/* Returns whether glb-healthcheck writes the table on this host. The package brings healthcheck.conf also where it
 * never ran. */
static bool has_daemon(const struct doctor *doctor)
{
	return doctor->healthcheck.dst && host_exists(host_path(&doctor->host, "%s", doctor->healthcheck.dst));
}

/* Returns whether the binary table has the same content as its source. */
static bool is_built_from(const struct doctor *doctor, const struct table_set *source)
{
	const struct table_set *built = &doctor->table;

	if (source->count != built->count || table_set_fingerprint(source) != table_set_fingerprint(built))
		return false;
	for (uint32_t i = 0; i < source->count; i++) {
		const struct table *a = &source->tables[i], *b = &built->tables[i];
		/* glb-healthcheck writes the health, and version 2 has neither names, nor hops, nor all states. */
		bool whole = doctor->table_version == 3;

		if (whole && (strcmp(a->name ? a->name : "", b->name ? b->name : "") != 0 || a->hops != b->hops))
			return false;
		if (!same_backends(a, b, !has_daemon(doctor), whole))
			return false;
	}
	return true;
}

/* Adds a finding if the binary table does not have what is in its source. Returns whether it did. */
static bool report_old_table(struct doctor *doctor)
{
	struct faults faults = {.file = doctor->source_path};
	struct table_set source = {0};
	const char *command;
	bool reported = false;
	int error = 0;

	if (!doctor->table_version || !host_exists(doctor->source_path))
		return false;
	error = table_load_json(doctor->source_path, &source, &faults);
	if (error == -EINVAL) {
		report_faults(doctor, &faults, FINDINGS_FAIL, doctor->source_path, false);
		reported = true;
	} else if (!error && !is_built_from(doctor, &source)) {
		if (has_daemon(doctor))
			command = host_command("systemctl restart glb-healthcheck");
		else
			command = host_command(
				"glb-director-cli build-config %s %s", doctor->source_path, doctor->table_path);
		findings_add(&doctor->findings, FINDINGS_WARN, doctor->table_path, command,
			"it was built from another version of %s, so edits of that file do not reach the director",
			doctor->source_path);
		reported = true;
	}
	table_set_free(&source);
	faults_clear(&faults);
	return reported;
}

void doctor_table(struct doctor *doctor)
{
	const char *command;
	bool has_source = host_exists(doctor->source_path);

	command = host_command("glb-director-cli build-config %s %s", doctor->source_path, doctor->table_path);
	if (doctor->table_error) {
		report_unusable(doctor, doctor->table_error, &doctor->table_faults, doctor->table_path,
			"forwarding table", has_source ? command : "glb-director-cli new --dir /etc/glb");
		return;
	}
	if (!doctor->table.count)
		findings_add(&doctor->findings, FINDINGS_FAIL, doctor->table_path, NULL,
			"it has no tables, so the director forwards nothing: put the right table in its place");
	else if (!report_old_table(doctor) && doctor->table_version)
		doctor_ok(doctor, doctor->table_path, "valid binary table of version %u, with %u table%s",
			doctor->table_version, doctor->table.count, text_plural(doctor->table.count));
	else if (!doctor->table_version)
		doctor_ok(doctor, doctor->table_path, "valid JSON table, with %u table%s", doctor->table.count,
			text_plural(doctor->table.count));
}

/* A file whose rights are checked. */
struct secret {
	const char *path;
	bool has_keys, unit_reads;
};

static bool report_writable(struct doctor *doctor, const char *path, mode_t mode)
{
	const char *command;

	if (!(mode & S_IWOTH) || (S_ISDIR(mode) && mode & S_ISVTX))
		return false;
	command = host_command("chmod o-w %s", path);
	findings_add(&doctor->findings, FINDINGS_FAIL, path, command,
		"every user of this host can change it, and so send clients' packets anywhere");
	return true;
}

/* The unit is root without CAP_DAC_OVERRIDE, so root needs the rights that others need. */
static bool report_unreadable(struct doctor *doctor, const char *path, const struct stat *file)
{
	mode_t needed = file->st_uid == 0 ? S_IRUSR : file->st_gid == 0 ? S_IRGRP : S_IROTH;
	const char *command;

	if (!doctor->root_user || file->st_mode & needed)
		return false;
	command = host_command("chgrp root %s && chmod g+r %s", path, path);
	findings_add(&doctor->findings, FINDINGS_FAIL, path, command,
		"the unit of the director may not read it, because its root has no CAP_DAC_OVERRIDE, so the director does not start or reload");
	return true;
}

/* Returns whether a finding was added. Counts the files that are there, and those with keys. */
static bool report_rights(struct doctor *doctor, const struct secret *secret, unsigned *files, unsigned *with_keys)
{
	char path[PATH_MAX];
	const char *folder;
	struct stat file, parent;
	bool reported;

	if (stat(secret->path, &file) != 0)
		return false;
	++*files;
	*with_keys += secret->has_keys;
	snprintf(path, sizeof(path), "%s", secret->path);
	folder = dirname(path);
	reported = stat(folder, &parent) == 0 && report_writable(doctor, folder, parent.st_mode);
	reported |= report_writable(doctor, secret->path, file.st_mode);
	if (secret->has_keys && file.st_mode & S_IROTH) {
		findings_add(&doctor->findings, FINDINGS_WARN, secret->path, host_command("chmod o-rwx %s", secret->path),
			"every user of this host can read its hash keys, and choose packets that all go to one proxy");
		reported = true;
	}
	return (secret->unit_reads && report_unreadable(doctor, secret->path, &file)) || reported;
}

void doctor_permissions(struct doctor *doctor)
{
	const struct healthcheck_files *files = &doctor->healthcheck;
	char *dst = files->dst ? strdup(host_path(&doctor->host, "%s", files->dst)) : NULL;
	unsigned found = 0, with_keys = 0;
	char *earlier = NULL;
	bool reported = false;

	if (asprintf(&earlier, "%s~", doctor->source_path) < 0)
		earlier = NULL;
	const struct secret secrets[] = {
		{doctor->conf_path, false, true},
		{doctor->environment_path, false, false},
		{doctor->table_path, true, true},
		{file_is_same(doctor->source_path, doctor->table_path) ? "" : doctor->source_path, true, false},
		{earlier ? earlier : "", true, false},
		{dst ? dst : "", true, false},
	};

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		reported |= report_rights(doctor, &secrets[i], &found, &with_keys);
	if (!found)
		doctor_ok(doctor, "", "not known: the director's files are not there, or this user may not see them");
	else if (!reported)
		doctor_ok(doctor, "", "other users %s",
			with_keys ? "can neither change the files nor read the hash keys"
				  : "cannot change the files; there is no table, or this user may not see it");
	free(dst);
	free(earlier);
}
