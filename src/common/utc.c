/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/utc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FORMAT    "%Y-%m-%dT%H:%M:%SZ"
#define UTC_END_S INT64_C(253402300800) /* the year 10000 */

const char *utc_strftime(int64_t unix_s, const char *format, char buf[UTC_TEXT_MAX])
{
	time_t at = (time_t)unix_s;
	struct tm fields;

	if (unix_s < 0 || unix_s >= UTC_END_S || !gmtime_r(&at, &fields)) {
		snprintf(buf, UTC_TEXT_MAX, "an unknown time");
		return buf;
	}
	strftime(buf, UTC_TEXT_MAX, format, &fields);
	return buf;
}

const char *utc_format(int64_t unix_s, char buf[UTC_TEXT_MAX])
{
	return utc_strftime(unix_s, FORMAT, buf);
}

bool utc_parse(const char *text, int64_t *unix_s)
{
	struct tm fields = {0};
	char again[UTC_TEXT_MAX];
	int64_t seconds;

	if (!strptime(text, FORMAT, &fields))
		return false;
	seconds = timegm(&fields);
	/* timegm() turns 30 February into 2 March, and strptime() takes "1" for "01". The text shows both. */
	if (strcmp(utc_format(seconds, again), text) != 0)
		return false;
	*unix_s = seconds;
	return true;
}
