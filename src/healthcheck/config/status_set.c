/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/config/status_set.h"

#include <stdlib.h>
#include <string.h>

/* Reads a status of three digits at *text and moves *text behind it. Returns 0 if there is no valid status. */
static int read_status(const char **text)
{
	const char *at = *text;
	int status = 0;

	while (*at == ' ')
		at++;
	for (int digit = 0; digit < 3; digit++, at++) {
		if (*at < '0' || *at > '9')
			return 0;
		status = status * 10 + (*at - '0');
	}
	while (*at == ' ')
		at++;
	*text = at;
	return status >= STATUS_SET_MIN && status <= STATUS_SET_MAX ? status : 0;
}

bool status_set_parse(const char *text, struct status_set *set)
{
	*set = (struct status_set){0};
	for (;;) {
		int first = read_status(&text), last = first;

		if (first && *text == '-') {
			text++;
			last = read_status(&text);
		}
		if (!first || last < first)
			return false;
		for (int status = first; status <= last; status++)
			set->has[status] = true;
		if (*text == '\0')
			return true;
		if (*text++ != ',')
			return false;
	}
}
