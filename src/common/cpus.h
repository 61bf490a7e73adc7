/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GLB_COMMON_CPUS_H
#define GLB_COMMON_CPUS_H

/* How many CPUs the calling thread may run on; 1 where the system does not say. */
unsigned cpus_usable(void);

#endif
