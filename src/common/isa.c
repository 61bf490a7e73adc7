/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/isa.h"

#ifdef __x86_64__
static bool cpu_has(enum isa isa)
{
	bool avx2, avx512;

	__builtin_cpu_init();
	avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
	avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
	return avx2 && (isa == ISA_AVX2 || avx512);
}

static bool has_later_avx512(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512vbmi2");
}

bool isa_gathers_slowly(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_is("amd");
}
#else
static bool cpu_has(enum isa)
{
	return false;
}

static bool has_later_avx512(void)
{
	return false;
}

bool isa_gathers_slowly(void)
{
	return false;
}
#endif

const char *isa_name(enum isa isa)
{
	static const char *const names[ISA_COUNT] = {
		[ISA_PLAIN] = "scalar", [ISA_AVX2] = "avx2", [ISA_AVX512] = "avx512"};

	return names[isa];
}

bool isa_usable(enum isa isa)
{
	return isa == ISA_PLAIN || cpu_has(isa);
}

bool isa_keeps_frequency(enum isa isa)
{
	return isa != ISA_AVX512 || has_later_avx512();
}

enum isa isa_widest(void)
{
	return cpu_has(ISA_AVX512) ? ISA_AVX512 : cpu_has(ISA_AVX2) ? ISA_AVX2 : ISA_PLAIN;
}
