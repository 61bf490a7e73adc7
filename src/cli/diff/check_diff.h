/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the health checks of two JSON tables. One thread. */
#ifndef GLB_CLI_DIFF_CHECK_DIFF_H
#define GLB_CLI_DIFF_CHECK_DIFF_H

#include <jansson.h>

/*
 * Returns a line for each backend of a table in both files whose checks differ: "web: backend 192.168.50.10: checks:
 * gue 19523 -> none". Values of headers are not in it. An empty array if one of the files is binary. The caller owns
 * it.
 */
json_t *check_diff(const char *before, const char *after);

#endif
