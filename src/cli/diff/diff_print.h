/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the differences of two table sets for people and as JSON. One thread. */
#pragma once

#include <jansson.h>

#include "cli/diff/table_diff.h"
#include "table/file/table_health.h"

enum diff_parts {
	DIFF_BACKENDS = 1, /* the rows of each backend */
	DIFF_CAUSES = 2, /* why rows break, on which proxies, and the skew between the two sets */
};

/* parts: of enum diff_parts */
void diff_print(const struct table_set_diff *diff, unsigned parts);

/* Returns the JSON output of `diff` for two sets; the caller owns it. */
json_t *diff_describe(const struct table_set_diff *diff);

/* Returns the rows that break by cause, as a JSON object; the caller owns it. */
json_t *diff_describe_causes(const uint32_t causes[TABLE_DIFF_CAUSES]);

/* Returns what happens to the UDP flows of a table with udp_moved. The caller frees it. NULL: out of memory. */
char *diff_udp_text(const struct table_diff *table);

/* Returns how the checks of a backend differ, such as "gue 19523 -> none", without values of headers. http: their
 * settings; may be NULL. The caller frees it. NULL: they are the same, or out of memory. */
char *diff_checks(const struct check_targets *old, const struct http_settings *old_http,
	const struct check_targets *new, const struct http_settings *new_http);

/* Returns true if the proxy has other server IDs than before. */
bool diff_changes_server_ids(const struct table_diff_backend *backend);

/* Returns a share such as "16.69%", in buf or static. "0.00%" means none of `whole`, and "100.00%" all of it. */
const char *diff_percent_text(uint32_t part, uint32_t whole, char buf[16]);
