/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-director-cli doctor`: looks at this host as a director, changes nothing, and says what would lose packets or
 * stall. Each check is a function that adds findings. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "program/host/cpu_list.h"
#include "cli/doctor/eal_args.h"
#include "program/host/host.h"
#include "cli/edit/healthcheck_files.h"
#include "cli/telemetry.h"
#include "common/faults.h"
#include "director/conf/conf.h"
#include "program/findings.h"
#include "table/table.h"

/* What a running director says of itself. NULL: no director replied, or it has no such command. */
struct doctor_director {
	json_t *stats, *health, *next_hops; /* replies of /glb/... */
	json_t *ports; /* array: replies of /ethdev/info */
	json_t *params, *app_params; /* arrays: the words of its command line before and after "--" */
};

/* What the checks look at, read once before the first check. All paths begin with the root. */
struct doctor {
	struct host host;
	bool is_copy; /* --root: an image or a copy, of which nothing runs */
	bool root_user;
	struct doctor_director director;
	bool running; /* a director replied: director.stats is set */
	int director_error; /* otherwise: why not, as a positive errno */
	char *director_fault; /* the same for people */
	char *other_prefixes; /* if there is no socket: the --file-prefix of others, with commas between; or NULL */
	/* The unit's file /etc/default/glb-director: its path, and what it sets. */
	char *environment_path, *eal_text;
	char *unit_table_path; /* NULL: the file names none */
	char *conf_path, *table_path; /* of the running director, or else of the unit */
	struct eal_args eal;
	struct conf conf; /* valid if conf_error is 0 */
	int conf_error, table_error; /* as conf_read() and table_load() return */
	struct faults conf_faults, table_faults;
	struct table_set table;
	uint32_t table_version;
	struct healthcheck_files healthcheck; /* its paths do not begin with the root */
	char *source_path; /* of the operators' JSON table */
};

/* Returns COMMAND_OK, or the exit code after an error message. doctor_free() in any case. */
int doctor_read(struct doctor *doctor, const struct command_args *args, const char *root);
void doctor_free(struct doctor *doctor);

/* Returns whether DPDK drives a card of this host, so that checks of IOMMU and CPUs apply. */
bool doctor_has_pci(const struct doctor *doctor);

/* Returns the path of a file about the card that is this port. */
const char *doctor_pci(const struct doctor *doctor, const struct eal_args_port *port, const char *file);

/* Returns the NUMA node of the port's card, or -1. */
long doctor_node(const struct doctor *doctor, const struct eal_args_port *port);

/* Returns the name of an argument for CPUs in the kernel's command line that the kernel does not use, or NULL. why: may
 * be NULL. */
const char *doctor_ignored_argument(const struct doctor *doctor, const char **why);

/* Writes the CPUs of the lcores that forward, without those that this host does not have. */
void doctor_worker_cpus(const struct doctor *doctor, cpu_set_t *cpus);

/* bifurcation.c: calls `each` with the NAME of each /etc/glb/bifurcate.d/NAME.conf; checks these files. */
typedef void doctor_each_vf(const struct doctor *doctor, const char *name);
void doctor_vfs(const struct doctor *doctor, doctor_each_vf *each);
void doctor_vf_configurations(const struct doctor *doctor);

/* Reasons of texts that begin with "not needed: " or "not known: ". */
#define DOCTOR_NO_PCI      "no PCI port"
#define DOCTOR_UNREADABLE  "director.conf or the table cannot be read"
#define DOCTOR_NOT_RUNNING "no director runs"
#define DOCTOR_COPY        "nothing runs in a copy of a host"

/* The checks. Their subject is a struct doctor. */
findings_look doctor_privileges, doctor_configuration, doctor_table, doctor_permissions; /* files.c */
findings_look doctor_units; /* units.c */
findings_look doctor_director, doctor_versions, doctor_loaded; /* running.c */
findings_look doctor_kernel, doctor_iommu, doctor_ports; /* ports.c */
findings_look doctor_hugepages; /* memory.c */
findings_look doctor_cpus, doctor_isolation, doctor_governor, doctor_numa; /* cpus.c */
findings_look doctor_mtu, doctor_offloads, doctor_next_hops; /* network.c */
findings_look doctor_clock; /* clock.c */
