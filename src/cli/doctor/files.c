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
#include "common/cpus.h"
#include "common/file/file.h"
#include "common/text.h"
#include "director/conf/conf_tables.h"
#include "program/installed.h"
#include "table/file/table_load.h"
#include "table/rows/table_build.h"

#define OLD_TABLE_TEXT "it was built from another version of {1}, so edits of that file do not reach the director"
#define CHECK          "glb-director-cli check {0}"
#define BUILD          "glb-director-cli build-config {1} {0}"
#define MISSING_TEXT   "there is no {2}, so the director does not start"

static const struct finding unprivileged = {FINDINGS_WARN, NULL,
	"this process is not root, so it may see neither the running director nor files that only root may read: run glb-director-cli doctor as root"};
static const struct finding missing = {FINDINGS_FAIL, "glb-director-cli new --dir /etc/glb", MISSING_TEXT};
static const struct finding not_built = {FINDINGS_FAIL, BUILD, MISSING_TEXT};
static const struct finding healthcheck_errors = {FINDINGS_FAIL, CHECK,
	"it has errors, so glb-healthcheck does not start, and proxies that fail stay in the table"};
static const struct finding no_port = {FINDINGS_FAIL, NULL,
	"GLB_DIRECTOR_EAL_ARGS names no port, and no card is bound to vfio-pci, so the director does not start: name one with -a or --vdev"};
static const struct finding no_tables = {
	FINDINGS_FAIL, NULL, "it has no tables, so the director forwards nothing: put the right table in its place"};
static const struct finding old_table = {FINDINGS_WARN, BUILD, OLD_TABLE_TEXT};
static const struct finding old_table_of_daemon = {FINDINGS_WARN, "systemctl restart glb-healthcheck", OLD_TABLE_TEXT};
static const struct finding writable = {
	FINDINGS_FAIL, "chmod o-w {0}", "every user of this host can change it, and so send clients' packets anywhere"};
static const struct finding unreadable = {FINDINGS_FAIL, "chgrp root {0} && chmod g+r {0}",
	"the unit of the director may not read it, because its root has no CAP_DAC_OVERRIDE, so the director does not start or reload"};
static const struct finding readable = {FINDINGS_WARN, "chmod o-rwx {0}",
	"every user of this host can read its hash keys, and choose packets that all go to one proxy"};

void doctor_privileges(void *subject)
{
	const struct doctor *doctor = subject;

	if (doctor->root_user)
		findings_ok("", "this process is root, so it sees everything that it checks");
	else
		findings_add(&unprivileged, "");
}

/* Reports a file that cannot be used. what: "director.conf"; source: the file from which it can be built, or NULL. */
static void report_unusable(int error, const struct faults *faults, const char *what, const char *source)
{
	if (error == -ENOENT)
		findings_add(source ? &not_built : &missing, faults->file, source ? source : "", what);
	else if (error == -EACCES || error == -EPERM)
		findings_ok(faults->file, "not known: this user may not read it");
	else
		findings_add_faults(faults, FAULTS_ERRORS, CHECK);
}

void doctor_configuration(void *subject)
{
	const struct doctor *doctor = subject;
	const char *healthcheck = host_path(&doctor->host, "%s", INSTALLED_HEALTHCHECK_CONF);

	if (!doctor->healthcheck.src && access(healthcheck, R_OK) == 0)
		findings_add(&healthcheck_errors, healthcheck);
	doctor_vf_configurations(doctor);
	if (doctor->conf_error) {
		report_unusable(doctor->conf_error, &doctor->conf_faults, "director.conf", NULL);
		return;
	}
	findings_add_faults(&doctor->conf_faults, FAULTS_WARNINGS, NULL);
	if (!doctor->running && !doctor->eal.port_count)
		findings_add(&no_port, doctor->environment_path);
	else if (!doctor->conf_faults.count)
		findings_ok(doctor->conf_path, "valid");
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

/* The rows also tell of weights, balance and previous states, which a binary table does not have. */
static bool has_rows_of(const struct doctor *doctor, struct table_set *source)
{
	return has_daemon(doctor) || doctor->table_version != 3 || table_build(source, cpus_usable()) != 0 ||
	       table_set_digest(source) == table_set_digest(&doctor->table);
}

/* Adds a finding if the binary table does not have what is in its source. */
static void report_old_table(const struct doctor *doctor)
{
	struct faults faults = {.file = doctor->source_path};
	struct table_set source = {0};
	int error;

	if (!doctor->table_version || !host_exists(doctor->source_path))
		return;
	error = table_load_json(doctor->source_path, &source, &faults);
	if (error == -EINVAL)
		findings_add_faults(&faults, FAULTS_ERRORS, CHECK);
	else if (!error && !(is_built_from(doctor, &source) && has_rows_of(doctor, &source)))
		findings_add(has_daemon(doctor) ? &old_table_of_daemon : &old_table, doctor->table_path,
			doctor->source_path);
	table_set_free(&source);
	faults_clear(&faults);
}

void doctor_table(void *subject)
{
	const struct doctor *doctor = subject;
	const uint32_t count = doctor->table.count;
	struct faults faults = {.file = doctor->table_path};

	if (doctor->table_error) {
		report_unusable(doctor->table_error, &doctor->table_faults, "forwarding table",
			host_exists(doctor->source_path) ? doctor->source_path : NULL);
		return;
	}
	if (!doctor->conf_error)
		conf_tables_check(&doctor->conf, &doctor->table, &faults);
	findings_add_faults(&faults, FAULTS_ERRORS, NULL);
	faults_clear(&faults);
	if (count)
		report_old_table(doctor);
	else
		findings_add(&no_tables, doctor->table_path);
	if (findings_none() && doctor->table_version)
		findings_ok(doctor->table_path, "valid binary table of version %u, with %u table%s",
			doctor->table_version, count, text_plural(count));
	else if (findings_none())
		findings_ok(doctor->table_path, "valid JSON table, with %u table%s", count, text_plural(count));
}

/* A file whose rights are checked. */
struct secret {
	const char *path;
	bool has_keys, unit_reads;
};

static void report_writable(const char *path, mode_t mode)
{
	if (mode & S_IWOTH && !(S_ISDIR(mode) && mode & S_ISVTX))
		findings_add(&writable, path);
}

/* Counts the files that are there, and those with keys. */
static void report_rights(const struct doctor *doctor, const struct secret *secret, unsigned *files, unsigned *with_keys)
{
	char path[PATH_MAX];
	const char *folder;
	struct stat file, parent;
	mode_t needed;

	if (stat(secret->path, &file) != 0)
		return;
	++*files;
	*with_keys += secret->has_keys;
	snprintf(path, sizeof(path), "%s", secret->path);
	folder = dirname(path);
	if (stat(folder, &parent) == 0)
		report_writable(folder, parent.st_mode);
	report_writable(secret->path, file.st_mode);
	if (secret->has_keys && file.st_mode & S_IROTH)
		findings_add(&readable, secret->path);
	/* The unit is root without CAP_DAC_OVERRIDE, so root needs the rights that others need. */
	needed = file.st_uid == 0 ? S_IRUSR : file.st_gid == 0 ? S_IRGRP : S_IROTH;
	if (secret->unit_reads && doctor->root_user && !(file.st_mode & needed))
		findings_add(&unreadable, secret->path);
}

void doctor_permissions(void *subject)
{
	const struct doctor *doctor = subject;
	const struct healthcheck_files *files = &doctor->healthcheck;
	char *dst = files->dst ? strdup(host_path(&doctor->host, "%s", files->dst)) : NULL;
	unsigned files_found = 0, with_keys = 0;
	char *earlier = NULL;

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
		report_rights(doctor, &secrets[i], &files_found, &with_keys);
	if (!files_found)
		findings_ok("", "not known: the director's files are not there, or this user may not see them");
	else if (findings_none())
		findings_ok("", "other users %s",
			with_keys ? "can neither change the files nor read the hash keys"
				  : "cannot change the files; there is no table, or this user may not see it");
	free(dst);
	free(earlier);
}
