/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bifurcate/commands.h"
#include "bifurcate/vf/vf_rules.h"
#include "common/file/file.h"
#include "program/installed.h"
#include "table/file/table_load.h"

/* The name is also the instance of a systemd unit. */
static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
	size_t size = strlen(name);

	return size > 0 && size < VF_RECORD_NAME && *name != '.' && strspn(name, letters) == size;
}

/* Returns 0; or -EEXIST with an error in job->faults: apply has made something else, which would stay as it is. */
static int check_record(struct vf_job *job)
{
	const struct vf_record *record = &job->record;
	char other[VF_PCI_MAX];

	if (record->exists && strcmp(record->name, job->name) != 0)
		faults_error(&job->faults, "device",
			"%s belongs to the configuration '%s': run `glb-bifurcate undo %s` first, or use that one",
			job->state.pf, record->name, record->name);
	else if (record->exists && record->vf != job->conf.vf)
		faults_error(&job->faults, "vf",
			"apply has given VF %u to the director: run `glb-bifurcate undo %s` first, or write vf = %u;",
			record->vf, job->name, record->vf);
	else if (!record->exists && vf_record_find(&job->host, job->name, other))
		faults_error(&job->faults, "device",
			"apply of '%s' has made a VF of %s: run `glb-bifurcate undo %s` first, or write device = \"%s\";",
			job->name, other, job->name, other);
	else
		return 0;
	return -EEXIST;
}

int vf_job_look(struct vf_job *job)
{
	int error;

	faults_clear(&job->faults); /* warnings of an earlier look */
	vf_rules_free(&job->state.rules);
	error = vf_state_read(&job->host, &job->conf, &job->state, &job->faults);

	if (!error)
		error = vf_record_read(&job->host, job->state.pf, &job->record, &job->faults);
	if (!error && !*job->host.root && (job->conf.steering == VF_STEERING_RULES || job->record.made_rules))
		error = vf_rules_read(&job->state, job->conf.vf, &job->faults) ? 0 : -EIO;
	return error ? error : check_record(job);
}

/* Reads the VIPs of the table, as strictly as the director does. Returns 0, or -errno with an error in job->faults. */
static int read_vips(struct vf_job *job)
{
	const char *file = job->faults.file;
	struct table_set set;
	int error;

	file_look(job->table, &job->table_file);
	job->faults.file = job->table;
	error = table_load(job->table, &set, NULL, &job->faults);
	if (error)
		return error;
	faults_clear(&job->faults); /* glb-director-cli check prints the warnings */
	vips_free(&job->conf.vips);
	error = vips_collect(&set, &job->conf.vips, &job->faults);
	table_set_free(&set);
	if (!error)
		job->faults.file = file;
	return error;
}

int vf_job_follow_table(struct vf_job *job)
{
	struct stat now;
	int error;

	if (!*job->table)
		return 0;
	file_look(job->table, &now);
	if (file_is_unchanged(&now, &job->table_file))
		return 0;
	error = read_vips(job);
	return error ? error : 1;
}

/* Returns COMMAND_OK; or the exit code, after an error message. */
static int check_arguments(struct vf_job *job, const char *name, const char *root)
{
	*job = (struct vf_job){.name = name, .host.root = root && strcmp(root, "/") != 0 ? root : ""};
	if (*job->host.root && !host_exists(job->host.root))
		return command_usage("--root: there is no folder '%s'", root);
	if (!is_name(name))
		return command_usage(
			"'%s' is no name of a configuration: eth1 means " INSTALLED_BIFURCATE "/eth1.conf", name);
	snprintf(job->path, sizeof(job->path), "%s", host_path(&job->host, INSTALLED_BIFURCATE "/%s.conf", name));
	job->faults.file = job->path;
	return COMMAND_OK;
}

int vf_job_open(struct vf_job *job, const char *name, const char *root, const char *table)
{
	int code = check_arguments(job, name, root);

	if (code != COMMAND_OK)
		return code;
	if (vf_conf_read(job->path, &job->conf, &job->faults) != 0)
		return vf_job_fail(job);
	if (job->conf.steering == VF_STEERING_RULES) {
		snprintf(job->table, sizeof(job->table), "%s", *table ? table : host_path(&job->host, INSTALLED_TABLE));
		if (read_vips(job) != 0)
			return vf_job_fail(job);
	}
	return vf_job_look(job) == 0 ? COMMAND_OK : vf_job_fail(job);
}

int vf_job_open_made(struct vf_job *job, const char *name, const char *root)
{
	char pf[VF_PCI_MAX];
	int code = check_arguments(job, name, root);

	if (code != COMMAND_OK)
		return code;
	if (!vf_record_find(&job->host, name, pf)) {
		if (vf_conf_read(job->path, &job->conf, &job->faults) != 0)
			return vf_job_fail(job);
		job->conf.steering = VF_STEERING_NEXT_HOP; /* without a record, no rule is ours */
	} else if (vf_record_read(&job->host, pf, &job->record, &job->faults) != 0) {
		return vf_job_fail(job);
	} else {
		job->conf = (struct vf_conf){.device = strdup(pf), .vf = job->record.vf};
		if (!job->conf.device)
			abort();
		snprintf(job->state.pf, sizeof(job->state.pf), "%s", pf);
		job->card_is_gone = !host_exists(host_path(&job->host, "/sys/bus/pci/devices/%s", pf));
		if (job->card_is_gone)
			return COMMAND_OK;
	}
	return vf_job_look(job) == 0 ? COMMAND_OK : vf_job_fail(job);
}

void vf_job_close(struct vf_job *job)
{
	vf_conf_free(&job->conf);
	vf_rules_free(&job->state.rules);
	faults_clear(&job->faults);
}

int vf_job_fail(struct vf_job *job)
{
	return command_faults(&job->faults, FAULTS_ALL);
}

void vf_job_print(const struct vf_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		puts(plan->steps[i].command);
}
