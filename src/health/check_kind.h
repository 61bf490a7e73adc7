/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of health checks. Their members in tables are in table/file/json/table_json_health.c. Constant data. */
#pragma once

#include <stdbool.h>

/* The HTTP settings that a kind uses. */
enum check_http_use {
	CHECK_NO_HTTP,
	CHECK_HTTP_TARGET, /* host, tls and verify */
	CHECK_ALL_HTTP,
};

/*
 * Symbol, method, and the members of struct check_kind_facts in their order. The method is the check_METHOD of
 * healthcheck/checks/ that runs the checks of this kind.
 */
#define CHECK_KINDS(X)                                            \
	X(HTTP, http, "http", true, "/", CHECK_ALL_HTTP, false)   \
	X(GRPC, http, "grpc", true, "", CHECK_HTTP_TARGET, false) \
	X(TCP, tcp, "tcp", true, NULL, CHECK_NO_HTTP, false)      \
	X(GUE, tunnel, "gue", true, NULL, CHECK_NO_HTTP, true)    \
	X(FOU, tunnel, "fou", true, NULL, CHECK_NO_HTTP, true)    \
	X(COMMAND, command, "command", false, NULL, CHECK_NO_HTTP, false)

enum check_kind {
#define X(symbol, ...) CHECK_##symbol,
	CHECK_KINDS(X)
#undef X
		CHECK_KIND_COUNT
};

struct check_kind_facts {
	const char *name; /* in tables, metrics, /status and messages */
	bool has_port; /* false: a backend is checked if it has the text */
	const char *initial; /* the text of a check that has none; NULL: such a check has no text */
	enum check_http_use http;
	bool tunnelled; /* it asks for an address behind the proxy, through a tunnel */
};

extern const struct check_kind_facts check_kinds[CHECK_KIND_COUNT];
