/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/commands.h"
#include "bifurcate/vf/vf_job.h"
#include "program/findings.h"
#include "program/host/hugepages.h"

enum { JSON, ROOT, TABLE };

static const struct command_option options[] = {
	[JSON] = {"json", NULL, "print the findings as JSON"},
	[ROOT] = VF_OPTION_ROOT,
	[TABLE] = VF_OPTION_TABLE,
	{0},
};

/* Adds a finding for each property: what differs, or that it is as configured. */
static void check_properties(const struct vf_job *job, const struct vf_plan *plan)
{
	static const struct finding differs = {FINDINGS_FAIL, "glb-bifurcate apply {2}", "{1}"};

	for (enum vf_property property = 0; property < VF_PROPERTIES; property++) {
		const struct vf_step *step = vf_plan_find(plan, property);

		findings_begin(vf_plan_name(property));
		if (step)
			findings_add(&differs, job->state.pf, step->differs ? step->differs : "not as configured",
				job->name);
		else
			findings_ok(job->state.pf, "as configured");
	}
}

static void check_plan(void *subject)
{
	struct vf_job *job = subject;
	struct vf_plan plan;

	job->faults.file = NULL;
	/* With force, the plan says what is in the way instead of refusing it. */
	if (vf_plan_apply(&job->conf, &job->state, &job->record, true, &plan, &job->faults) == 0)
		check_properties(job, &plan);
	findings_begin("plan");
	findings_add_faults(&job->faults, FAULTS_ALL, NULL);
	vf_plan_free(&plan);
}

/* A director without hugepages does not start, so its VF is of no use. */
static void check_hugepages(void *subject)
{
	const struct vf_job *job = subject;
	struct hugepages pages = hugepages_count(&job->host, HUGEPAGES_FOLDER);

	if (pages.total_kb)
		findings_ok("", "%ld MB are reserved", pages.total_kb / 1024);
	else
		findings_add(&hugepages_none, "");
}

static const struct findings_check checks[] = {
	{"plan", check_plan, NULL},
	{"hugepages", check_hugepages, NULL},
	{0},
};

static int status(const struct command_args *args)
{
	struct vf_job job;
	int code = vf_job_open(
		&job, args->operands[0], args->options[ROOT], args->options[TABLE] ? args->options[TABLE] : "");

	if (code == COMMAND_OK)
		code = findings_run(checks, &job, "configuration", job.name, args->options[JSON]);
	else
		code = FINDINGS_FAILED;
	vf_job_close(&job);
	return code;
}

const struct command status_command = {
	.name = "status",
	.run = status,
	.operands = "NAME",
	.summary = "Compare the VF of a director with the configuration NAME",
	.options = options,
};
