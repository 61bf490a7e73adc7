/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

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

static void add_ok(struct findings *findings, const char *name, const struct vf_job *job, const char *text)
{
	findings->check = name;
	findings_add(findings, FINDINGS_OK, job->state.pf, NULL, "%s", text);
}

/* Adds a finding for the property: what differs, or that it is as configured. */
static void compare(
	struct findings *findings, const struct vf_job *job, const struct vf_plan *plan, enum vf_property property)
{
	const struct vf_step *step = vf_plan_find(plan, property);
	char command[FINDINGS_COMMAND_MAX];

	if (!step) {
		add_ok(findings, vf_plan_name(property), job, "as configured");
		return;
	}
	snprintf(command, sizeof(command), "glb-bifurcate apply %s", job->name);
	findings->check = vf_plan_name(property);
	findings_add(findings, FINDINGS_FAIL, job->state.pf, command, "%s",
		step->differs ? step->differs : "not as configured");
}

/* A director without hugepages does not start, so its VF is of no use. */
static void check_hugepages(struct findings *findings, const struct vf_job *job)
{
	struct hugepages pages = hugepages_count(&job->host, HUGEPAGES_FOLDER);

	findings->check = "hugepages";
	if (pages.total_kb)
		findings_add(findings, FINDINGS_OK, "", NULL, "%ld MB are reserved", pages.total_kb / 1024);
	else
		findings_add(findings, FINDINGS_FAIL, "", HUGEPAGES_COMMAND, HUGEPAGES_NONE);
}

static void add_fault(void *context, bool warning, const char *text)
{
	findings_add(context, warning ? FINDINGS_WARN : FINDINGS_FAIL, "", NULL, "%s", text);
}

static int compare_all(struct vf_job *job, bool json)
{
	struct findings findings;
	struct vf_plan plan;
	int code;

	findings_open(&findings);
	job->faults.file = NULL;
	/* With force, the plan says what is in the way instead of refusing it. */
	if (vf_plan_apply(&job->conf, &job->state, &job->record, true, &plan, &job->faults) == 0)
		for (enum vf_property property = 0; property < VF_PROPERTIES; property++)
			compare(&findings, job, &plan, property);
	findings.check = "plan";
	faults_report(&job->faults, FAULTS_ALL, add_fault, &findings);
	vf_plan_free(&plan);
	check_hugepages(&findings, job);
	code = findings_print(&findings, "configuration", job->name, json);
	findings_close(&findings);
	return code;
}

static int status(const struct command_args *args)
{
	struct vf_job job;
	int code = vf_job_open(
		&job, args->operands[0], args->options[ROOT], args->options[TABLE] ? args->options[TABLE] : "");

	if (code == COMMAND_OK)
		code = compare_all(&job, args->options[JSON]);
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
