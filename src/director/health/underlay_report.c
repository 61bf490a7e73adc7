/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/health/underlay_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/netaddr.h"
#include "common/text.h"

void underlay_report_open(struct underlay_report *report)
{
	*report = (struct underlay_report){0};
	pthread_mutex_init(&report->lock, NULL);
}

/* Returns the index of the first record whose backend is not before this one. */
static uint32_t find(const struct underlay_report *report, const struct netaddr *backend)
{
	uint32_t at = 0;

	while (at < report->count && netaddr_compare(&report->records[at].last.backend, backend) < 0)
		at++;
	return at;
}

static void remove_record(struct underlay_report *report, uint32_t at)
{
	report->count--;
	memmove(&report->records[at], &report->records[at + 1], (report->count - at) * sizeof(*report->records));
}

static void remove_oldest(struct underlay_report *report)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < report->count; i++)
		if (report->records[i].seen_ms < report->records[oldest].seen_ms)
			oldest = i;
	remove_record(report, oldest);
}

/* Returns the record of this backend, a new one if there is none. */
static struct underlay_record *record_of(struct underlay_report *report, const struct netaddr *backend)
{
	uint32_t at = find(report, backend);

	if (at < report->count && netaddr_compare(&report->records[at].last.backend, backend) == 0)
		return &report->records[at];
	if (report->count == UNDERLAY_REPORT_MAX) {
		remove_oldest(report);
		at = find(report, backend);
	}
	memmove(&report->records[at + 1], &report->records[at], (report->count - at) * sizeof(*report->records));
	report->count++;
	report->records[at] = (struct underlay_record){0};
	return &report->records[at];
}

void underlay_report_add(struct underlay_report *report, const struct underlay_note *note, uint64_t now_ms)
{
	struct underlay_record *record;

	pthread_mutex_lock(&report->lock);
	record = record_of(report, &note->backend);
	record->last = *note;
	record->messages++;
	record->seen_ms = now_ms;
	pthread_mutex_unlock(&report->lock);
	report->newest = *note;
	report->unlogged++;
}

static void expire(struct underlay_report *report, uint64_t now_ms)
{
	pthread_mutex_lock(&report->lock);
	for (uint32_t i = report->count; i-- > 0;)
		if (now_ms - report->records[i].seen_ms >= UNDERLAY_REPORT_EXPIRE_MS)
			remove_record(report, i);
	pthread_mutex_unlock(&report->lock);
}

bool underlay_report_tick(
	struct underlay_report *report, uint16_t outbound_mtu, uint64_t now_ms, char text[UNDERLAY_REPORT_TEXT])
{
	char what[UNDERLAY_REPORT_TEXT];

	expire(report, now_ms);
	if (!report->unlogged || (report->logged_ms && now_ms - report->logged_ms < UNDERLAY_REPORT_LOG_MS))
		return false;
	snprintf(text, UNDERLAY_REPORT_TEXT,
		"the network to the proxies is too small: %s, but outbound_mtu is %u (%" PRIu64 " message%s, %" PRIu32
		" prox%s)",
		underlay_report_text(&report->newest, what), outbound_mtu, report->unlogged,
		text_plural(report->unlogged), report->count, report->count == 1 ? "y" : "ies");
	report->unlogged = 0;
	report->logged_ms = now_ms;
	return true;
}

const struct fact underlay_report_facts[] = {
	{"underlay_mtu_bytes", "mtu", OPENMETRICS_GAUGE, FACTS_AT(struct underlay_record, last.mtu),
		"the MTU in the last ICMP error of a router about a packet to the backend"},
	{NULL, "guessed", OPENMETRICS_GAUGE, FACTS_AT(struct underlay_record, last.guessed),
		"1 if the message did not have the MTU"},
	{NULL, "messages", OPENMETRICS_COUNTER, FACTS_AT(struct underlay_record, messages), "number of messages"},
	{0},
};

uint32_t underlay_report_read(struct underlay_report *report, struct underlay_record records[UNDERLAY_REPORT_MAX])
{
	uint32_t count;

	pthread_mutex_lock(&report->lock);
	count = report->count;
	memcpy(records, report->records, count * sizeof(*records));
	pthread_mutex_unlock(&report->lock);
	return count;
}

const char *underlay_report_text(const struct underlay_note *note, char text[UNDERLAY_REPORT_TEXT])
{
	char router[NETADDR_TEXT_MAX], proxy[NETADDR_TEXT_MAX];

	snprintf(text, UNDERLAY_REPORT_TEXT, "router %s forwards at most %u bytes%s to proxy %s",
		netaddr_format(&note->router, router), note->mtu,
		note->guessed ? " (a guess: it does not tell its MTU)" : "", netaddr_format(&note->backend, proxy));
	return text;
}
