/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: the commands that turn the present state of a PF and its VF into the configured one, or back. A plan is empty
 * if nothing differs. The caller owns a plan and calls vf_plan_free(). Runs nothing. Thread-safe. In commands,
 * REPRESENTOR stands for the name of an interface that is known when the VF exists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bifurcate/vf/vf_conf.h"
#include "bifurcate/vf/vf_record.h"
#include "bifurcate/vf/vf_state.h"
#include "common/faults.h"

/* In the order in which `status` prints them. */
enum vf_property {
	VF_LINK,
	VF_NUM_VFS,
	VF_ESWITCH,
	VF_MAC,
	VF_VLAN,
	VF_SPOOF_CHECK,
	VF_TRUST,
	VF_BINDING,
	VF_RULES,
	VF_PROPERTIES,
};

struct vf_step {
	enum vf_property property;
	bool replan; /* what follows depends on what this command makes: read the state and plan again */
	bool always; /* runs also after a command that failed */
	char *differs; /* for people: what is, and what should be; NULL: another step of the property says it */
	char *command; /* "echo VALUE > PATH", or a program and its arguments, separated by single spaces */
};

struct vf_plan {
	struct vf_step *steps;
	size_t count;
};

/*
 * Plans `apply`. force: VFs may be removed that are in the way. Returns 0; or -EINVAL with errors in faults, which say
 * why nothing can be done and what to do, and the plan is empty.
 */
int vf_plan_apply(const struct vf_conf *conf, const struct vf_state *state, const struct vf_record *record, bool force,
	struct vf_plan *plan, struct faults *faults);

/* Plans `undo`, of what the record says. force: also without a record, and although a driver has other VFs. */
int vf_plan_undo(const struct vf_state *state, const struct vf_record *record, bool force, struct vf_plan *plan,
	struct faults *faults);
void vf_plan_free(struct vf_plan *plan);

/* Returns how many VFs the PF should have. */
unsigned vf_plan_count(const struct vf_conf *conf, const struct vf_state *state);

/* Adds a step. differs: NULL, or a text that the plan frees. */
void vf_plan_add(struct vf_plan *plan, enum vf_property property, char *differs, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns a text that vf_plan_add() takes. */
char *vf_plan_differs(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the name of the property: its key in the configuration, or a word. */
const char *vf_plan_name(enum vf_property property);

/* Returns the first step of the property, if possible one that says what differs; or NULL: nothing differs. */
const struct vf_step *vf_plan_find(const struct vf_plan *plan, enum vf_property property);
