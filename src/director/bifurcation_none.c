/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces bifurcation.c in a build without eBPF (-Dredirect=disabled). */
#include "director/bifurcation.h"

int bifurcation_claim(const char *)
{
	return 0;
}

void bifurcation_follow(const struct director *)
{
}
