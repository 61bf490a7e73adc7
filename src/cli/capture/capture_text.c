/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/capture/capture_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/flow_text.h"
#include "common/clock.h"
#include "common/net.h"
#include "packet/quic_routes.h"
#include "program/command.h"
#include "table/table.h"

const char *capture_text_verdict(unsigned verdict)
{
	if (verdict == CAPTURE_RETURNED)
		return "exception_returned";
	return verdict < VERDICT_COUNT ? verdict_name((enum verdict)verdict) : "unknown";
}

void capture_text_offer(void)
{
	for (unsigned verdict = 0; verdict < VERDICT_COUNT; verdict++)
		command_offer(capture_text_verdict(verdict), verdict_help((enum verdict)verdict));
	command_offer(capture_text_verdict(CAPTURE_RETURNED), "comes back from the exception path");
	command_offer("drop", "all that begin with drop_");
}

static bool is_name(const char *name, const char *text, size_t length)
{
	return (strncmp(name, text, length) == 0 && name[length] == '\0') ||
	       (length == 4 && memcmp(text, "drop", 4) == 0 && strncmp(name, "drop_", 5) == 0);
}

const char *capture_text_parse(const char *text, uint32_t *verdicts, int *length)
{
	*verdicts = 0;
	for (;;) {
		size_t size = strcspn(text, ",");
		uint32_t found = 0;

		for (unsigned verdict = 0; verdict <= CAPTURE_RETURNED; verdict++)
			if (is_name(capture_text_verdict(verdict), text, size))
				found |= 1u << verdict;
		*length = (int)size;
		*verdicts |= found;
		if (!found)
			return text;
		if (!text[size])
			return NULL;
		text += size + 1;
	}
}

void capture_text_outcome(
	const struct capture_record *record, const struct capture_labels *labels, char text[CAPTURE_OUTCOME_MAX])
{
	size_t used = (size_t)snprintf(text, CAPTURE_OUTCOME_MAX, "%s", capture_text_verdict(record->verdict));

	if (!record->has_table)
		return;
	if (labels && record->table < labels->count)
		used += (size_t)snprintf(
			text + used, CAPTURE_OUTCOME_MAX - used, ", table %s", labels->labels[record->table]);
	else
		used += (size_t)snprintf(text + used, CAPTURE_OUTCOME_MAX - used, ", table #%u", record->table);
	used += (size_t)snprintf(text + used, CAPTURE_OUTCOME_MAX - used, ", row %u", record->row);
	if (quic_fate_name(record->quic))
		used += (size_t)snprintf(
			text + used, CAPTURE_OUTCOME_MAX - used, ", quic %s", quic_fate_name(record->quic));
	used += (size_t)snprintf(text + used, CAPTURE_OUTCOME_MAX - used, ", hops");
	for (unsigned i = 0; i < record->hop_count && i < ENCAPSULATE_MAX_HOPS; i++) {
		char address[NETADDR_TEXT_MAX];

		used += (size_t)snprintf(
			text + used, CAPTURE_OUTCOME_MAX - used, " %s", netaddr_format(&record->hops[i], address));
	}
}

/* Writes " [S.]", the flags of a TCP segment as tcpdump prints them; or "" if they are not there. */
static void format_flags(const struct flow *flow, const uint8_t *frame, uint32_t readable, char text[16])
{
	static const char letters[] = "FSRP.UEW";
	const uint8_t *ip = frame + flow->ip_offset;
	uint32_t header = flow->family == NETADDR_V4 ? (ip[0] & 15u) * 4 : NET_IPV6_SIZE;
	char *at = text;

	*text = '\0';
	if (flow->kind != FLOW_TRANSPORT || flow->protocol != TABLE_TCP ||
		(flow->family == NETADDR_V6 && ip[6] != TABLE_TCP) || flow->ip_offset + header + 14 > readable)
		return;
	at += sprintf(at, " [");
	for (unsigned bit = 0; bit < 8; bit++)
		if (ip[header + 13] >> bit & 1)
			*at++ = letters[bit];
	strcpy(at, "]");
}

/* Writes the local time of day, as tcpdump does. */
static void format_time(uint64_t ns, char text[32])
{
	time_t seconds = (time_t)(ns / CLOCK_NS_PER_S);
	struct tm fields;

	if (!localtime_r(&seconds, &fields))
		fields = (struct tm){0};
	strftime(text, 32, "%H:%M:%S", &fields);
	snprintf(text + strlen(text), 32 - strlen(text), ".%06" PRIu64, ns % CLOCK_NS_PER_S / 1000);
}

void capture_text_print(FILE *out, const struct capture_record *record, const char *port, const char *outcome)
{
	bool received = record->in_port != CAPTURE_NO_PORT;
	const uint8_t *frame = received ? record->data : record->data + record->in_captured;
	uint32_t captured = received ? record->in_captured : record->out_captured;
	uint32_t size = received ? record->in_size : record->out_size;
	char time[32], what[FLOW_TEXT_FRAME_MAX], flags[16];
	struct flow_text text;
	struct flow flow;

	format_time(record->time, time);
	fprintf(out, "%s %s %s  ", time, port, received ? "in" : "out");
	if (flow_parse(frame, captured, size, &flow) == VERDICT_FORWARDED) {
		flow_text_format(&flow, &text);
		format_flags(&flow, frame, captured, flags);
		fprintf(out, "%s %s > %s%s", text.what, text.source, text.destination, flags);
	} else {
		flow_text_frame(frame, captured, what);
		fputs(what, out);
	}
	fprintf(out, ", %" PRIu32 " bytes: %s\n", size, outcome);
}
