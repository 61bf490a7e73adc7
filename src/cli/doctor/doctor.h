/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-director-cli doctor`: looks at this host as a director, changes nothing, and says what would lose packets or
 * stall. Each check is a function that adds findings. One thread.
 */
#ifndef GLB_CLI_DOCTOR_DOCTOR_H
#define GLB_CLI_DOCTOR_DOCTOR_H

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
	struct findings findings;
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

/* Returns the name of an argument for CPUs in the kernel's command line that the kernel does not use, or NULL. why: may
 * be NULL. */
const char *doctor_ignored_argument(const struct doctor *doctor, const char **why);

/* Writes the CPUs of the lcores that forward, without those that this host does not have. */
void doctor_worker_cpus(const struct doctor *doctor, cpu_set_t *cpus);

/* The objects of one finding: the first ones by name, and the number of the others. All zeros: none. */
struct doctor_objects {
	char text[1024]; /* "web", or "web, shop, mail and 61 more" */
	unsigned count;
	size_t named; /* bytes of the text that are names */
};
void doctor_objects_add(struct doctor_objects *objects, const char *name);

/* Add a finding of the level FINDINGS_OK; and one that says why the check does not apply. */
void doctor_ok(struct doctor *doctor, const char *object, const char *format, ...) __attribute__((format(printf, 3, 4)));
void doctor_not_needed(struct doctor *doctor, const char *why);

/* bifurcation.c: calls `each` with the NAME of each /etc/glb/bifurcate.d/NAME.conf; checks these files. */
typedef void doctor_each_vf(struct doctor *doctor, const char *name);
void doctor_vfs(struct doctor *doctor, doctor_each_vf *each);
void doctor_vf_configurations(struct doctor *doctor);
/* files.c */
void doctor_privileges(struct doctor *doctor);
void doctor_configuration(struct doctor *doctor);
void doctor_table(struct doctor *doctor);
void doctor_permissions(struct doctor *doctor);
/* units.c */
void doctor_units(struct doctor *doctor);
/* running.c */
void doctor_director(struct doctor *doctor);
void doctor_versions(struct doctor *doctor);
void doctor_loaded(struct doctor *doctor);
/* ports.c */
void doctor_kernel(struct doctor *doctor);
void doctor_iommu(struct doctor *doctor);
void doctor_ports(struct doctor *doctor);
/* memory.c */
void doctor_hugepages(struct doctor *doctor);
/* cpus.c */
void doctor_cpus(struct doctor *doctor);
void doctor_isolation(struct doctor *doctor);
void doctor_governor(struct doctor *doctor);
void doctor_numa(struct doctor *doctor);
/* network.c */
void doctor_mtu(struct doctor *doctor);
void doctor_offloads(struct doctor *doctor);
void doctor_next_hops(struct doctor *doctor);
/* clock.c */
void doctor_clock(struct doctor *doctor);

#endif
