/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/status_set.h"

#include <string.h>

#include "common/text.h"

/* Reads the status at *text, with spaces around it, and moves *text past it. */
static bool take_status(const char **text, uint32_t *status)
{
	*text += strspn(*text, " ");
	if (!text_take_number(text, STATUS_SET_MIN, STATUS_SET_MAX, status))
		return false;
	*text += strspn(*text, " ");
	return true;
}

bool status_set_parse(const char *text, struct status_set *set)
{
	uint32_t first, last;

	*set = (struct status_set){0};
	for (;;) {
		if (!take_status(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!take_status(&text, &last))
				return false;
		}
		if (last < first)
			return false;
		for (uint32_t status = first; status <= last; status++)
			set->has[status] = true;
		if (*text == '\0')
			return true;
		if (*text++ != ',')
			return false;
	}
}
