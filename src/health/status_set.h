/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of HTTP status codes, written "200-299,304". Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { STATUS_SET_MIN = 100, STATUS_SET_MAX = 599 };

struct status_set {
	bool has[STATUS_SET_MAX + 1];
};

/* Parses status codes from 100 to 599 and ranges of them, with commas between. On false, *set is undefined. */
bool status_set_parse(const char *text, struct status_set *set);

static inline bool status_set_has(const struct status_set *set, long status)
{
	return status >= STATUS_SET_MIN && status <= STATUS_SET_MAX && set->has[status];
}
