/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/monitor/expiry.h"

#include <inttypes.h>

#include "common/text.h"
#include "common/utc.h"
#include "program/log.h"

void expiry_warn(struct check *check, int64_t now_s)
{
	int64_t left_s = check->tls_expires_s - now_s, days = (left_s < 0 ? -left_s : left_s) / EXPIRY_DAY_S;
	static uint64_t last;
	char date[UTC_TEXT_MAX];

	if (left_s > EXPIRY_WARNING_S || now_s - check->tls_warned_s < EXPIRY_DAY_S)
		return;
	/* Many proxies may have the same certificate. A check that is not named now is named by a later probe. */
	if (!log_due(&last))
		return;
	check->tls_warned_s = now_s;
	utc_strftime(check->tls_expires_s, UTC_DATE, date);
	if (left_s < 0)
		log_warning("check %s: a certificate of the proxy has expired on %s, %" PRId64 " day%s ago: renew it",
			check->name, date, days, text_plural((uint64_t)days));
	else
		log_warning("check %s: a certificate of the proxy expires on %s, in %" PRId64 " day%s: renew it",
			check->name, date, days, text_plural((uint64_t)days));
}
