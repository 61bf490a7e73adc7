/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check.h"

const char *check_result_name(enum check_result result)
{
	static const char *const names[] = {
#define X(symbol, name, help) name,
		CHECK_RESULTS(X)
#undef X
	};

	return names[result];
}

const char *check_kind_name(enum check_kind kind)
{
	static const char *const names[] = {
		[CHECK_HTTP] = "http",
		[CHECK_GRPC] = "grpc",
		[CHECK_TCP] = "tcp",
		[CHECK_GUE] = "gue",
		[CHECK_FOU] = "fou",
		[CHECK_COMMAND] = "command",
	};

	return names[kind];
}
