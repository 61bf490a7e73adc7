/* SPDX-License-Identifier: BSD-3-Clause */
/* The director's commands of DPDK telemetry, docs/reference/telemetry.md. They run in DPDK's own
 * thread. */
#ifndef GLB_DIRECTOR_TELEMETRY_H
#define GLB_DIRECTOR_TELEMETRY_H

#include "director/director.h"

/* The director must outlive EAL. 0, or -errno. */
int telemetry_register(struct director *director);

#endif
