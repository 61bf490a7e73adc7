/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "bifurcate/commands.h"
#include "bifurcate/vf/vf_job.h"
#include "bifurcate/vf/vf_run.h"
#include "common/text.h"

enum { DRY_RUN, FORCE, ROOT };

static const struct command_option options[] = {
	[DRY_RUN] = {"dry-run", NULL, "print the commands, and change nothing"},
	[FORCE] = {"force", NULL, "remove all VFs, also those that apply did not make"},
	[ROOT] = VF_OPTION_ROOT,
	{0},
};

static int run_plan(struct vf_job *job, const struct vf_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		puts(plan->steps[i].command);
		fflush(stdout);
		if (vf_run(plan->steps[i].command, &job->faults) != 0)
			return vf_job_fail(job);
	}
	if (vf_record_remove(job->state.pf, &job->faults) != 0)
		return vf_job_fail(job);
	printf("%s: undone with %zu command%s\n", job->name, plan->count, text_plural(plan->count));
	return COMMAND_OK;
}

static int take_back(struct vf_job *job, bool force, bool dry_run)
{
	struct vf_plan plan = {0};
	int code = COMMAND_OK;

	if (!dry_run && vf_record_lock(job->state.pf, &job->faults) != 0)
		return vf_job_fail(job);
	if (job->card_is_gone) /* and the VFs with it */
		command_note("there is no card %s any more", job->state.pf);
	else if ((!dry_run && vf_job_look(job) != 0) ||
		 vf_plan_undo(&job->state, &job->record, force, &plan, &job->faults) != 0)
		return vf_job_fail(job);
	if (dry_run)
		vf_job_print(&plan);
	else if (!job->record.exists && !plan.count)
		command_note("apply has made nothing on %s since this host started", job->state.pf);
	else
		code = run_plan(job, &plan);
	vf_plan_free(&plan);
	return code;
}

static int undo(const struct command_args *args)
{
	struct vf_job job;
	int code;

	if (args->options[ROOT] && !args->options[DRY_RUN])
		return command_usage("undo: --root needs --dry-run");
	code = vf_job_open_made(&job, args->operands[0], args->options[ROOT]);
	if (code == COMMAND_OK)
		code = take_back(&job, args->options[FORCE], args->options[DRY_RUN]);
	vf_job_close(&job);
	return code;
}

const struct command undo_command = {
	.name = "undo",
	.run = undo,
	.operands = "NAME",
	.summary = "Take back what apply has made since this host started",
	.options = options,
};
