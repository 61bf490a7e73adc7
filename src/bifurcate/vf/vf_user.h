/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the process that has a VF open: through VFIO, or through RDMA with mlx5. One thread. */
#ifndef GLB_BIFURCATE_VF_VF_USER_H
#define GLB_BIFURCATE_VF_VF_USER_H

#include "bifurcate/vf/vf_state.h"

/* Fills *user with the first process that has one of the VFs open. user->pid is 0 if there is none, or this user may
 * not know. */
void vf_user_find(const struct host *host, char (*vfs)[VF_PCI_MAX], unsigned count, struct vf_user *user);

#endif
