/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "bifurcate/commands.h"
#include "bifurcate/vf/vf_job.h"
#include "bifurcate/vf/vf_run.h"
#include "common/text.h"

#define MAX_PASSES \
	4 /* a pass ends at a command after which the state is read again; no card needs more than two of those */

enum { DRY_RUN, FORCE, ROOT, TABLE };

static const struct command_option options[] = {
	[DRY_RUN] = {"dry-run", NULL, "print the commands, and change nothing"},
	[FORCE] = {"force", NULL, "remove VFs that are in the way, or take one that the kernel uses"},
	[ROOT] = VF_OPTION_ROOT,
	[TABLE] = VF_OPTION_TABLE,
	{0},
};

/*
 * Records what this plan makes, before it is made: then `undo` knows of it even if this process is killed. The record
 * also says which configuration the PF belongs to, so a plan without commands is recorded, too.
 */
static int record_plan(struct vf_job *job, const struct vf_plan *plan)
{
	struct vf_record *record = &job->record;
	struct vf_attributes *before = &record->attributes;
	const struct vf_state *state = &job->state;

	if (!record->exists) {
		*record = (struct vf_record){
			.exists = true,
			.vf = job->conf.vf,
			.autoprobe = state->autoprobe,
			.attributes = state->attributes,
		};
		before->spoof_check = before->trust = VF_UNSET;
		memcpy(record->driver, state->vf_driver, sizeof(record->driver));
		memcpy(record->override, state->vf_override, sizeof(record->override));
		snprintf(record->name, sizeof(record->name), "%s", job->name);
	}
	for (size_t i = 0; i < plan->count; i++) {
		enum vf_property property = plan->steps[i].property;

		if (plan->steps[i].replan && property == VF_NUM_VFS)
			record->made_vfs = vf_plan_count(&job->conf, state);
		record->made_rules |= property == VF_RULES;
		record->made_switchdev |= property == VF_ESWITCH;
		if (property == VF_SPOOF_CHECK && before->spoof_check == VF_UNSET)
			before->spoof_check = state->attributes.spoof_check;
		if (property == VF_TRUST && before->trust == VF_UNSET)
			before->trust = state->attributes.trust;
	}
	return vf_record_write(state->pf, record, &job->faults);
}

/* Runs the commands up to the first one after which the state must be read again. Returns whether there was one, or
 * -errno. */
static int run_pass(struct vf_job *job, const struct vf_plan *plan, unsigned *count)
{
	int error = record_plan(job, plan);

	if (error)
		return error;
	for (size_t i = 0; i < plan->count; i++) {
		const struct vf_step *step = &plan->steps[i];
		int failed;

		if (error && !step->always)
			continue;
		puts(step->command);
		fflush(stdout);
		failed = vf_run(step->command, &job->faults);
		(*count)++;
		if (!error)
			error = failed;
		if (!error && step->replan)
			return 1;
	}
	return error;
}

/* Adds an error for each property that its commands did not change. */
static int refuse_rest(struct vf_job *job, const struct vf_plan *plan)
{
	for (enum vf_property property = 0; property < VF_PROPERTIES; property++) {
		const struct vf_step *step = vf_plan_find(plan, property);

		if (step)
			faults_error(&job->faults, job->state.vf,
				"%s: still %s after '%s': the driver %s ignored it; see dmesg, or remove the key from the configuration",
				vf_plan_name(property), step->differs ? step->differs : "differs", step->command,
				job->state.driver);
	}
	return plan->count ? vf_job_fail(job) : COMMAND_OK;
}

/* Returns COMMAND_OK if the state is as configured, or else the exit code, after error messages. */
static int run_passes(struct vf_job *job, bool force, unsigned *count)
{
	struct vf_plan plan = {0};
	int more = 1, code;

	for (unsigned pass = 0; more > 0 && pass < MAX_PASSES; pass++) {
		if (vf_job_look(job) != 0 ||
			vf_plan_apply(&job->conf, &job->state, &job->record, force, &plan, &job->faults) != 0)
			return vf_job_fail(job);
		more = run_pass(job, &plan, count);
		vf_plan_free(&plan);
	}
	if (more < 0 || vf_job_look(job) != 0 ||
		vf_plan_apply(&job->conf, &job->state, &job->record, false, &plan, &job->faults) != 0)
		return vf_job_fail(job);
	code = refuse_rest(job, &plan);
	vf_plan_free(&plan);
	return code;
}

static int change(struct vf_job *job, bool force)
{
	unsigned count = 0;
	int code, changed;

	if (vf_record_lock(job->state.pf, &job->faults) != 0)
		return vf_job_fail(job);
	/* systemd does not start the unit again for a table that changes while it runs. */
	do {
		code = run_passes(job, force, &count);
		changed = code == COMMAND_OK ? vf_job_follow_table(job) : 0;
	} while (changed > 0);
	if (changed < 0)
		code = COMMAND_FAILED;
	vf_job_fail(job); /* warnings, and errors in the new table */
	if (code == COMMAND_OK)
		printf("%s: VF %u of %s is %s, bound to %s: %u command%s\n", job->name, job->conf.vf,
			job->state.interface, job->state.vf, job->state.vf_driver, count, text_plural(count));
	return code;
}

static int show(struct vf_job *job, bool force)
{
	struct vf_plan plan;

	if (vf_plan_apply(&job->conf, &job->state, &job->record, force, &plan, &job->faults) != 0)
		return vf_job_fail(job);
	vf_job_print(&plan);
	vf_plan_free(&plan);
	vf_job_fail(job); /* warnings */
	return COMMAND_OK;
}

static int apply(const struct command_args *args)
{
	bool force = args->options[FORCE], dry_run = args->options[DRY_RUN];
	struct vf_job job;
	int code;

	if (args->options[ROOT] && !dry_run)
		return command_usage("apply: --root needs --dry-run");
	code = vf_job_open(
		&job, args->operands[0], args->options[ROOT], args->options[TABLE] ? args->options[TABLE] : "");
	if (code == COMMAND_OK)
		code = dry_run ? show(&job, force) : change(&job, force);
	vf_job_close(&job);
	return code;
}

const struct command apply_command = {
	.name = "apply",
	.run = apply,
	.operands = "NAME",
	.summary = "Make the VF of a director as the configuration NAME says",
	.options = options,
};
