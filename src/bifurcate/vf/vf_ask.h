/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks `ip` and `devlink` what sysfs does not say about a PF. One thread. */
#pragma once

#include <jansson.h>

#include "bifurcate/vf/vf_state.h"

/* Returns the JSON that a program prints, which the caller frees; or NULL with an error in faults. words: as for
 * output_of(), at least 4. */
json_t *vf_ask(char *const words[], struct faults *faults);

/* Fills state->attributes of the VF, and state->mac_vf. Returns 0, or -errno with an error in faults: `ip` failed. */
int vf_ask_attributes(struct vf_state *state, const struct vf_conf *conf, struct faults *faults);

/*
 * Fills state->eswitch, which stays unknown for a card without switchdev mode. If devlink does not tell,
 * state->eswitch_fault says why.
 */
void vf_ask_eswitch(struct vf_state *state);
