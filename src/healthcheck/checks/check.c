/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check.h"

#include "healthcheck/checks/probe.h"

const struct probe_method *const check_methods[CHECK_KIND_COUNT] = {
	[CHECK_HTTP] = &check_http,
	[CHECK_GRPC] = &check_http,
	[CHECK_TCP] = &check_tcp,
	[CHECK_GUE] = &check_tunnel,
	[CHECK_FOU] = &check_tunnel,
	[CHECK_COMMAND] = &check_command,
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
