/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/check_kind.h"

const struct check_kind_facts check_kinds[CHECK_KIND_COUNT] = {
	[CHECK_HTTP] = {"http", .has_port = true, .initial = "/", .http = CHECK_ALL_HTTP},
	[CHECK_GRPC] = {"grpc", .has_port = true, .initial = "", .http = CHECK_HTTP_TARGET},
	[CHECK_TCP] = {"tcp", .has_port = true},
	[CHECK_GUE] = {"gue", .has_port = true, .tunnelled = true},
	[CHECK_FOU] = {"fou", .has_port = true, .tunnelled = true},
	[CHECK_COMMAND] = {"command"},
};
