/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: the clock was never set. */
#include <time.h>

time_t time(time_t *at)
{
	if (at)
		*at = 5;
	return 5;
}
