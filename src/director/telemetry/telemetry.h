/* SPDX-License-Identifier: BSD-3-Clause */
/* The director's commands of DPDK telemetry (docs/reference/telemetry.md). They run in threads of DPDK. */
#pragma once

#include "director/control/control.h"
#include "director/director.h"

/* Registers all commands. They reply until telemetry_close(). 0, or -errno. */
int telemetry_open(struct director *director, struct control *control);

/* Waits for the commands that run. From then on all commands fail. */
void telemetry_close(void);
