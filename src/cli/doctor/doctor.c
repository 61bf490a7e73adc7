/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/fleet/fleet.h"
#include "common/text.h"

#define MAX_NAMED 3 /* objects of one finding */

/* In the order in which they are printed. docs/reference/doctor.md lists them, too. */
static const struct {
	const char *name;
	void (*run)(struct doctor *doctor);
} checks[] = {
	{"privileges", doctor_privileges},
	{"configuration", doctor_configuration},
	{"table", doctor_table},
	{"permissions", doctor_permissions},
	{"units", doctor_units},
	{"director", doctor_director},
	{"versions", doctor_versions},
	{"loaded", doctor_loaded},
	{"kernel", doctor_kernel},
	{"iommu", doctor_iommu},
	{"ports", doctor_ports},
	{"hugepages", doctor_hugepages},
	{"cpus", doctor_cpus},
	{"isolation", doctor_isolation},
	{"governor", doctor_governor},
	{"numa", doctor_numa},
	{"mtu", doctor_mtu},
	{"offloads", doctor_offloads},
	{"next_hops", doctor_next_hops},
	{"clock", doctor_clock},
};

enum { JSON = TELEMETRY_OPTIONS, ROOT, FLEET, HOSTS };

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[JSON] = {"json", NULL, "print the findings as JSON"},
	[ROOT] = {"root", "DIR", "look at an image or a copy of a host in DIR"},
	[FLEET] = {"fleet", NULL, "ask the directors and proxies HOST[:PORT] for their metrics instead"},
	[HOSTS] = {"hosts", "FILE", "with --fleet: read more hosts from FILE, one a line"},
	{0},
};

void doctor_ok(struct doctor *doctor, const char *object, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	findings_vadd(&doctor->findings, FINDINGS_OK, object, NULL, format, args);
	va_end(args);
}

void doctor_objects_add(struct doctor_objects *objects, const char *name)
{
	char *end = objects->text + objects->named;
	size_t room = sizeof(objects->text) - objects->named;

	if (objects->count++ < MAX_NAMED)
		objects->named += (size_t)snprintf(end, room, "%s%.255s", objects->named ? ", " : "", name);
	else
		snprintf(end, room, " and %u more", objects->count - MAX_NAMED);
}

void doctor_not_needed(struct doctor *doctor, const char *why)
{
	doctor_ok(doctor, "", "not needed: %s", why);
}

static int look(const struct command_args *args, const char *root)
{
	struct doctor doctor = {0};
	int code = doctor_read(&doctor, args, root);

	if (code == COMMAND_OK) {
		findings_open(&doctor.findings);
		for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
			doctor.findings.check = checks[i].name;
			checks[i].run(&doctor);
		}
		code = findings_print(&doctor.findings, "host", *root ? root : "this host", args->options[JSON]);
		findings_close(&doctor.findings);
	} else {
		code = FINDINGS_FAILED;
	}
	doctor_free(&doctor);
	return code;
}

/* Returns NULL, or what is wrong with the options. */
static const char *misuse(const struct command_args *args)
{
	if (args->options[FLEET] && (args->options[ROOT] || args->options[TELEMETRY_FILE_PREFIX]))
		return "--fleet and the options of this host exclude each other";
	if (!args->options[FLEET] && (args->count || args->options[HOSTS]))
		return "hosts are for --fleet";
	return NULL;
}

static int doctor_run(const struct command_args *args)
{
	const char *root = args->options[ROOT] ? args->options[ROOT] : "";
	const char *wrong = misuse(args);
	uint32_t timeout;

	if (wrong)
		return command_usage("doctor: %s", wrong);
	if (*root && !host_exists(root))
		return command_usage("--root: there is no folder '%s'", root);
	if (!args->options[FLEET])
		return look(args, strcmp(root, "/") == 0 ? "" : root);
	if (!telemetry_timeout(args, &timeout))
		return COMMAND_USAGE;
	return fleet_run(args->operands, (size_t)args->count, args->options[HOSTS], timeout, args->options[JSON]);
}

const struct command doctor_command = {
	.name = "doctor",
	.run = doctor_run,
	.operands = "[HOST...]",
	.summary = "Say what on this host would lose packets or stall a director, and how to mend it",
	.options = options,
};
