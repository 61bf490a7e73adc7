/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check.h"

#include "healthcheck/checks/probe.h"

const struct probe_method *const check_methods[CHECK_KIND_COUNT] = {
#define X(symbol, method, ...) [CHECK_##symbol] = &check_##method,
	CHECK_KINDS(X)
#undef X
};

const char *check_result_name(enum check_result result)
{
	static const char *const names[] = {
#define X(symbol, name, help) name,
		CHECK_RESULTS(X)
#undef X
	};

	return names[result];
}
