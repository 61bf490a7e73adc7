/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* How many CPUs the calling thread may run on; 1 where the system does not say. */
unsigned cpus_usable(void);
