/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules in a card that steer VIPs to a VF: those of ethtool for ixgbe, those of tc for ice and mlx5. A rule is ours
 * if it gives packets to the VF of the director, so rules of operators are neither changed nor removed. One thread.
 */
#pragma once

#include <stdbool.h>

#include "bifurcate/vf/vf_conf.h"
#include "bifurcate/vf/vf_plan.h"
#include "bifurcate/vf/vf_state.h"
#include "bifurcate/vips.h"
#include "common/faults.h"

/* Fills state->rules, which vf_rules_free() frees. Asks ethtool or tc. Returns false, with an error in faults,
 * if that fails. */
bool vf_rules_read(struct vf_state *state, unsigned vf, struct faults *faults);
void vf_rules_free(struct vf_rules *rules);

/*
 * Adds the commands for what differs from conf->vips. Returns true, maybe with warnings; or false with an error in
 * faults: the driver has no rules that reach a VF, or the VIPs do not fit into them.
 */
bool vf_rules_plan(const struct vf_conf *conf, const struct vf_state *state, struct vf_plan *plan, struct faults *faults);

/* Adds the commands that remove our rules. */
void vf_rules_plan_removal(const struct vf_state *state, struct vf_plan *plan);

/* Returns whether the driver has rules of tc. */
bool vf_rules_has_tc(const struct vf_state *state);

/* The numbers of our filters among those of tc. mlx5 has 16 priorities. */
enum { VF_RULES_PRIO_V4 = 11, VF_RULES_PRIO_V6 = 12 };
