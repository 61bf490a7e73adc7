/* SPDX-License-Identifier: BSD-3-Clause */
/* What apply, status and undo have in common: the configuration with a name, the PF that it names, and its record. One
 * thread. */
#pragma once

#include <limits.h>
#include <sys/stat.h>

#include "bifurcate/vf/vf_conf.h"
#include "bifurcate/vf/vf_plan.h"
#include "bifurcate/vf/vf_record.h"
#include "bifurcate/vf/vf_state.h"
#include "common/faults.h"
#include "program/installed.h"

/* Both are options of several commands. */
#define VF_OPTION_ROOT                                                       \
	{                                                                    \
		"root", "DIR", "look at an image or a copy of a host in DIR" \
	}
#define VF_OPTION_TABLE                                                                              \
	{                                                                                            \
		"table", "TABLE", "with rules: a table with the VIPs (default: " INSTALLED_TABLE ")" \
	}

struct vf_job {
	struct host host;
	const char *name;
	char path[PATH_MAX]; /* of the configuration */
	struct vf_conf conf;
	struct vf_state state;
	struct vf_record record;
	struct faults faults;
	bool card_is_gone; /* vf_job_open_made() only: the card of the record, whose address is in `state` */
	/* The table with the VIPs. "": no VIPs are needed. */
	char table[PATH_MAX];
	struct stat table_file; /* before the VIPs were read */
};

/*
 * Reads the configuration /etc/glb/bifurcate.d/NAME.conf below the root folder ("" or NULL: this host), the VIPs
 * for rules of the table ("": the installed one), the state and the record.
 * Returns COMMAND_OK; or the exit code, after an error message. vf_job_close() in any case.
 */
int vf_job_open(struct vf_job *job, const char *name, const char *root, const char *table);

/*
 * For undo: takes the card and the VF from the record, because the configuration may have changed since `apply`, or may
 * be gone. Reads the configuration only if there is no record.
 */
int vf_job_open_made(struct vf_job *job, const char *name, const char *root);
void vf_job_close(struct vf_job *job);

/* Reads the VIPs again if the table is another file now. Returns 1 if it is, 0, or -errno with an error in
 * job->faults. */
int vf_job_follow_table(struct vf_job *job);

/* Reads the state and the record again. Returns 0, or -errno with an error in job->faults. */
int vf_job_look(struct vf_job *job);

/* Prints and clears the faults, also warnings. Returns COMMAND_FAILED. */
int vf_job_fail(struct vf_job *job);

/* Prints the commands of a plan, one in each line. */
void vf_job_print(const struct vf_plan *plan);
