/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bifurcate/commands.h"
#include "program/installed.h"

/* The name is also the instance of a systemd unit. */
static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
	size_t size = strlen(name);

	return size > 0 && size < VF_RECORD_NAME && *name != '.' && strspn(name, letters) == size;
}

int vf_job_look(struct vf_job *job)
{
	int error = vf_state_read(&job->host, &job->conf, &job->state, &job->faults);

	if (!error)
		error = vf_record_read(&job->host, job->state.pf, &job->record, &job->faults);
	if (error || !job->record.exists || strcmp(job->record.name, job->name) == 0)
		return error;
	faults_error(&job->faults, "device",
		"%s belongs to the configuration '%s': run `glb-bifurcate undo %s` first, or use that one",
		job->state.pf, job->record.name, job->record.name);
	return -EEXIST;
}

int vf_job_open(struct vf_job *job, const char *name, const char *root)
{
	*job = (struct vf_job){.name = name, .host.root = root && strcmp(root, "/") != 0 ? root : ""};
	if (*job->host.root && !host_exists(job->host.root))
		return command_usage("--root: there is no folder '%s'", root);
	if (!is_name(name))
		return command_usage(
			"'%s' is no name of a configuration: eth1 means " INSTALLED_BIFURCATE "/eth1.conf", name);
	snprintf(job->path, sizeof(job->path), "%s", host_path(&job->host, INSTALLED_BIFURCATE "/%s.conf", name));
	if (vf_conf_read(job->path, &job->conf, &job->faults) != 0 || vf_job_look(job) != 0)
		return vf_job_fail(job);
	return COMMAND_OK;
}

void vf_job_close(struct vf_job *job)
{
	vf_conf_free(&job->conf);
	faults_clear(&job->faults);
}

int vf_job_fail(struct vf_job *job)
{
	return commands_print_faults(&job->faults);
}

void vf_job_print(const struct vf_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		puts(plan->steps[i].command);
}
