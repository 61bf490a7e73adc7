/* SPDX-License-Identifier: BSD-3-Clause */
/* What is compiled once, beside the variants of lanes.c. */
#include "packet/lanes/lanes.h"

unsigned lanes_paths(struct lanes_path paths[LANES_MAX_PATHS])
{
	unsigned count = 0;

#ifdef __x86_64__
	bool avx2, avx512;

	__builtin_cpu_init();
	avx2 = __builtin_cpu_supports("avx2");
	avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
	paths[count++] = (struct lanes_path){"avx512", lanes_avx512, 512, avx2 && avx512};
	paths[count++] = (struct lanes_path){"avx2", lanes_avx2, 256, avx2};
#endif
	paths[count++] = (struct lanes_path){"plain", lanes_plain, 0, true};
	return count;
}

struct lanes_path lanes_choose(unsigned max_bits)
{
	struct lanes_path paths[LANES_MAX_PATHS] = {0};
	unsigned i = 0;

	lanes_paths(paths);
	while (!paths[i].usable || paths[i].bits > max_bits)
		i++;
	return paths[i];
}
