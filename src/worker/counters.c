/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/counters.h"

#include <stddef.h>

enum {
#define X(member, help) INDEX_##member,
	COUNTERS_LIST(X)
#undef X
		MEMBERS
};

_Static_assert(VERDICT_COUNT + MEMBERS == COUNTERS_VALUES, "every counter is listed");
_Static_assert(sizeof(struct counters) == COUNTERS_VALUES * sizeof(uint64_t), "nothing but numbers");

void counters_sum(struct counters *sum, const struct counters *from)
{
	const uint64_t *source = (const uint64_t *)from;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

unsigned counters_list(const struct counters *counters, struct counters_value values[COUNTERS_VALUES])
{
	const struct counters_value members[] = {
#define X(member, text) {#member, text, counters->member},
		COUNTERS_LIST(X)
#undef X
	};
	unsigned count = 0;

	values[count++] = members[INDEX_received];
	for (unsigned verdict = 0; verdict < VERDICT_COUNT; verdict++)
		values[count++] = (struct counters_value){
			.name = verdict_name(verdict),
			.help = verdict_help(verdict),
			.value = counters->verdicts[verdict],
		};
	for (unsigned i = INDEX_received + 1; i < MEMBERS; i++)
		values[count++] = members[i];
	return count;
}
