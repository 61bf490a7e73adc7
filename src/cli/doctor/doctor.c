/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/doctor/doctor.h"

#include <stdio.h>
#include <string.h>

#include "cli/doctor/fleet/fleet.h"
#include "program/installed.h"

/* In the order in which they are printed. docs/reference/doctor.md lists them, too. */
static const struct findings_check checks[] = {
	{"privileges", doctor_privileges, NULL},
	{"configuration", doctor_configuration, NULL},
	{"table", doctor_table, NULL},
	{"permissions", doctor_permissions, NULL},
	{"units", doctor_units, NULL},
	{"director", doctor_director, NULL},
	{"versions", doctor_versions, NULL},
	{"loaded", doctor_loaded, NULL},
	{"kernel", doctor_kernel, NULL},
	{"iommu", doctor_iommu, NULL},
	{"ports", doctor_ports, NULL},
	{"hugepages", doctor_hugepages, NULL},
	{"cpus", doctor_cpus, NULL},
	{"isolation", doctor_isolation, NULL},
	{"governor", doctor_governor, NULL},
	{"numa", doctor_numa, NULL},
	{"mtu", doctor_mtu, NULL},
	{"offloads", doctor_offloads, NULL},
	{"next_hops", doctor_next_hops, NULL},
	{"clock", doctor_clock, NULL},
	{0},
};

enum { JSON = TELEMETRY_OPTIONS, ROOT, FLEET, HOSTS, CONFIG };

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[JSON] = {"json", NULL, "print the findings as JSON"},
	[ROOT] = {"root", "DIR", "look at an image or a copy of a host in DIR"},
	[FLEET] = {"fleet", NULL,
		"look at a fleet instead: the directors in etcd, or the directors and proxies HOST[:PORT]"},
	[HOSTS] = {"hosts", "FILE", "with --fleet: read more hosts from FILE, one a line"},
	[CONFIG] = {"config", "FILE",
		"with --fleet: the fleet.conf that names etcd. With hosts, etcd is asked only if this is given",
		INSTALLED_FLEET_CONF},
	{0},
};

static int look(const struct command_args *args, const char *root)
{
	struct doctor doctor = {0};
	int code = FINDINGS_FAILED;

	if (doctor_read(&doctor, args, root) == COMMAND_OK)
		code = findings_run(checks, &doctor, "host", *root ? root : "this host", args->options[JSON]);
	doctor_free(&doctor);
	return code;
}

/* Returns NULL, or what is wrong with the options. */
static const char *misuse(const struct command_args *args)
{
	if (args->options[FLEET] && (args->options[ROOT] || args->options[TELEMETRY_FILE_PREFIX]))
		return "--fleet and the options of this host exclude each other";
	if (!args->options[FLEET] && (args->count || args->options[HOSTS] || args->options[CONFIG]))
		return "hosts and --config are for --fleet";
	return NULL;
}

static int doctor_run(const struct command_args *args)
{
	const char *root = args->options[ROOT] ? args->options[ROOT] : "";
	const char *wrong = misuse(args), *conf = args->options[CONFIG];

	if (wrong)
		return command_usage("doctor: %s", wrong);
	if (*root && !host_exists(root))
		return command_usage("--root: there is no folder '%s'", root);
	if (!args->options[FLEET])
		return look(args, strcmp(root, "/") == 0 ? "" : root);
	if (!conf && !args->count && !args->options[HOSTS] && host_exists(args->values[CONFIG]))
		conf = args->values[CONFIG];
	return fleet_run(args->operands, (size_t)args->count, args->options[HOSTS], conf,
		args->numbers[TELEMETRY_TIMEOUT], args->options[JSON]);
}

const struct command doctor_command = {
	.name = "doctor",
	.run = doctor_run,
	.operands = "[HOST...]",
	.summary = "Say what on this host would lose packets or stall a director, and how to mend it",
	.options = options,
};
