/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/utc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define UTC_END_S INT64_C(253402300800) /* the year 10000 */

const char *utc_format(int64_t unix_s, char buf[UTC_TEXT_MAX])
{
	time_t at = (time_t)unix_s;
	struct tm fields;

	if (unix_s < 0 || unix_s >= UTC_END_S || !gmtime_r(&at, &fields)) {
		snprintf(buf, UTC_TEXT_MAX, "an unknown time");
		return buf;
	}
	strftime(buf, UTC_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &fields);
	return buf;
}

/* Writes the number of `size` digits at text to *number. False: these are not digits. */
static bool digits(const char *text, int size, int *number)
{
	*number = 0;
	for (int i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*number = *number * 10 + text[i] - '0';
	}
	return true;
}

bool utc_parse(const char *text, int64_t *unix_s)
{
	struct tm fields = {0};
	char again[UTC_TEXT_MAX];
	int64_t seconds;

	if (strlen(text) != strlen("2026-01-01T00:00:00Z") || !digits(text, 4, &fields.tm_year) ||
		!digits(text + 5, 2, &fields.tm_mon) || !digits(text + 8, 2, &fields.tm_mday) ||
		!digits(text + 11, 2, &fields.tm_hour) || !digits(text + 14, 2, &fields.tm_min) ||
		!digits(text + 17, 2, &fields.tm_sec))
		return false;
	fields.tm_year -= 1900;
	fields.tm_mon--;
	seconds = timegm(&fields);
	/* timegm() turns 30 February into 2 March, and the text shows it. It shows wrong separators, too. */
	if (strcmp(utc_format(seconds, again), text) != 0)
		return false;
	*unix_s = seconds;
	return true;
}
