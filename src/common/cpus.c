/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/cpus.h"

#include <sched.h>

unsigned cpus_usable(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&cpus);
}
