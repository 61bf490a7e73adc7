/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instruction sets. Some sources are compiled once for each ISA of this list; src/meson.build has the compiler flags.
 * The program asks the CPU once and calls the variant that fits. Pure, thread-safe.
 */
#pragma once

#include <stdbool.h>

enum isa {
	ISA_PLAIN, /* what the compiler makes of plain C for the oldest CPU of the architecture */
	ISA_AVX2, /* with BMI2 */
	ISA_AVX512, /* F, BW, DQ and VL */
};

#define ISA_COUNT 3

/* "scalar", "avx2", "avx512". */
const char *isa_name(enum isa isa);

/* True when there are variants for this ISA and the CPU can run them. ISA_PLAIN is always usable. */
bool isa_usable(enum isa isa);

/*
 * False when the CPU may run at a lower frequency while it uses this ISA, as the first CPUs with AVX-512 do. The later
 * ones, from Intel's Ice Lake and AMD's Zen 4 on, have AVX512-VBMI2. Model numbers are not asked, because hypervisors
 * change them.
 */
bool isa_keeps_frequency(enum isa isa);

/* True when scalar loads are faster than a gather of as many values from near caches: AMD. Not measured on Intel. */
bool isa_gathers_slowly(void);

/* The usable ISA with the widest vectors. */
enum isa isa_widest(void);

/* In a source that is compiled for each ISA: the name of this variant, such as lanes_avx512. */
#if defined(__AVX512F__)
#define ISA_NAME(prefix) prefix##_avx512
#elif defined(__AVX2__)
#define ISA_NAME(prefix) prefix##_avx2
#else
#define ISA_NAME(prefix) prefix##_plain
#endif

/* Initialises an array of ISA_COUNT pointers to the variants. Those that do not exist on this architecture are NULL. */
#ifdef __x86_64__
#define ISA_VARIANTS(prefix)                                                                             \
	{                                                                                                \
		[ISA_PLAIN] = prefix##_plain, [ISA_AVX2] = prefix##_avx2, [ISA_AVX512] = prefix##_avx512 \
	}
#else
#define ISA_VARIANTS(prefix)                 \
	{                                    \
		[ISA_PLAIN] = prefix##_plain \
	}
#endif
