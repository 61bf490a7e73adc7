/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `apply` has made on a PF since boot, and what was there before: a JSON file below /run/glb-bifurcate, written
 * before the first command runs. `undo` reads it, so that it removes nothing of an operator. One thread.
 */
#pragma once

#include <stdbool.h>

#include "bifurcate/vf/vf_state.h"
#include "common/faults.h"

#define VF_RECORD_FOLDER "/run/glb-bifurcate"
#define VF_RECORD_NAME   64

struct vf_record {
	bool exists;
	char name[VF_RECORD_NAME]; /* of the configuration that the PF belongs to */
	unsigned vf; /* number of the director's VF */
	unsigned made_vfs; /* how many VFs apply has made; 0: the VFs were there before */
	bool made_switchdev, made_rules;
	/* Before the first apply. */
	bool autoprobe;
	char driver[VF_DRIVER_MAX], override[VF_DRIVER_MAX];
	struct vf_attributes attributes; /* spoof_check and trust: VF_UNSET if apply has not changed them */
};

/* Reads the record of the PF. Returns 0, also if there is none; or -errno with an error in faults: it cannot
 * be read. */
int vf_record_read(const struct host *host, const char *pf, struct vf_record *record, struct faults *faults);

/* Finds the PF of which a record has this name. Returns false if there is none. */
bool vf_record_find(const struct host *host, const char *name, char pf[VF_PCI_MAX]);

/* Return 0, or -errno with an error in faults. */
int vf_record_write(const char *pf, const struct vf_record *record, struct faults *faults);
int vf_record_remove(const char *pf, struct faults *faults);

/*
 * Locks the PF until the process ends, so that two commands cannot change it at the same time. Returns 0, or -errno
 * with an error in faults.
 */
int vf_record_lock(const char *pf, struct faults *faults);
