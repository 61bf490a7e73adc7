/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of health checks. check_kinds[] has what all programs know about a kind. Its members in tables are in
 * table/file/json/table_json_health.c, and the method that runs it in healthcheck/checks/check.c. Constant data.
 */
#ifndef GLB_HEALTH_CHECK_KIND_H
#define GLB_HEALTH_CHECK_KIND_H

#include <stdbool.h>

enum check_kind { CHECK_HTTP, CHECK_GRPC, CHECK_TCP, CHECK_GUE, CHECK_FOU, CHECK_COMMAND, CHECK_KIND_COUNT };

/* The HTTP settings that a kind uses. */
enum check_http_use {
	CHECK_NO_HTTP,
	CHECK_HTTP_TARGET, /* host, tls and verify */
	CHECK_ALL_HTTP,
};

struct check_kind_facts {
	const char *name; /* in tables, metrics, /status and messages */
	bool has_port; /* false: a backend is checked if it has the text */
	const char *initial; /* the text of a check that has none; NULL: such a check has no text */
	enum check_http_use http;
	bool tunnelled; /* it asks for an address behind the proxy, through a tunnel */
};

extern const struct check_kind_facts check_kinds[CHECK_KIND_COUNT];

#endif
