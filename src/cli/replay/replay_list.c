/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/replay/replay_list.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/explain.h"
#include "cli/flow_text.h"
#include "common/clock.h"
#include "packet/steer.h"
#include "packet/icmp/too_big.h"

#define REASON_MAX 192

void replay_list_note(struct replay_list *list, const struct burst *burst, uint32_t lane, struct timeval time)
{
	struct replay_list_packet *packet = &list->packets[lane];
	const uint8_t *frame = burst->frame[lane];
	uint32_t readable = burst->readable[lane];

	packet->time = time;
	packet->captured = readable;
	packet->admitted = admission_check(&list->pipeline->steering->admission, list->pipeline->port_mac, frame,
				   readable) == VERDICT_FORWARDED;
	packet->has_flow = flow_parse(frame, readable, burst->size[lane], &packet->flow) == VERDICT_FORWARDED;
	if (!packet->has_flow)
		flow_text_frame(frame, readable, packet->text);
}

/* Says what became of the too-big reply. */
static const char *too_big_text(enum verdict verdict, uint8_t refusal)
{
	static const char *const refusals[] = {
		[TOO_BIG_REPLY] = "",
		[TOO_BIG_OFF] = "",
		[TOO_BIG_FORBIDDEN] = "; standards forbid a too-big reply to it",
		[TOO_BIG_WITHOUT_DF] = "; it gets no too-big reply because it has no DF bit",
		[TOO_BIG_LIMITED] = "; it gets no too-big reply because of the rate limit",
	};

	return verdict == VERDICT_ANSWERED_TOO_BIG ? "; the director sent a too-big reply" : refusals[refusal];
}

static void underlay_text(const struct underlay_note *note, char reason[REASON_MAX])
{
	char router[NETADDR_TEXT_MAX], backend[NETADDR_TEXT_MAX];

	snprintf(reason, REASON_MAX, "router %s forwards at most %u bytes towards proxy %s%s",
		netaddr_format(&note->router, router), note->mtu, netaddr_format(&note->backend, backend),
		note->guessed ? " (guessed: the router does not tell its MTU)" : "");
}

/* Fills `reason` with why the packet has its verdict. */
static void explain(struct replay_list *list, const struct burst *burst, uint32_t lane,
	const struct steer_result *steered, char reason[REASON_MAX])
{
	const struct pipeline *pipeline = list->pipeline;
	const struct replay_list_packet *packet = &list->packets[lane];
	enum verdict verdict = burst->verdict[lane];
	const char *text = verdict_help(verdict);
	char hop[EXPLAIN_MAX];

	if (verdict == VERDICT_FORWARDED && steered->server != QUIC_NO_SERVER) {
		text = steered->quic == QUIC_ROUTED ? "its connection ID names this proxy"
						    : "the proxy that its connection ID names is down";
	} else if (verdict == VERDICT_FORWARDED && list->explainer.has_seed) {
		text = explain_hop(&list->explainer, steered->table, steered->row, 0, hop);
	} else if (verdict == VERDICT_EXCEPTION && !packet->admitted) {
		text = "broadcast and multicast frames are never forwarded";
	} else if (verdict == VERDICT_EXCEPTION || verdict == VERDICT_DROP_UNMATCHED) {
		text = packet->has_flow ? explain_unmatched(&packet->flow, pipeline->routes, pipeline->steering)
					: "only TCP, UDP, pings and ICMP errors about TCP or UDP can match a bind";
	} else if (verdict == VERDICT_UNDERLAY_TOO_BIG) {
		underlay_text(&burst->underlay[lane], reason);
		return;
	} else if (verdict == VERDICT_DROP_TOO_BIG || verdict == VERDICT_ANSWERED_TOO_BIG) {
		snprintf(reason, REASON_MAX, "%" PRIu32 " bytes with the outer headers; outbound_mtu is %" PRIu32 "%s",
			packet->flow.ip_size + encapsulate_outer_size(pipeline->routes->outer_ipv6[steered->table],
						       steered->hop_count),
			(uint32_t)pipeline->steering->outbound_mtu, too_big_text(verdict, burst->refusal[lane]));
		return;
	} else if (verdict == VERDICT_DROP_TRUNCATED && packet->captured < burst->size[lane]) {
		snprintf(reason, REASON_MAX,
			"the snap length of the capture has cut it to %" PRIu32 " of %" PRIu32 " bytes",
			packet->captured, burst->size[lane]);
		return;
	}
	snprintf(reason, REASON_MAX, "%s", text);
}

/* Writes the seconds since the first packet. */
static void format_time(const struct replay_list *list, const struct timeval *time, char buf[32])
{
	int64_t ns = (time->tv_sec - list->start.tv_sec) * (int64_t)CLOCK_NS_PER_S + time->tv_usec - list->start.tv_usec;
	uint64_t us = (uint64_t)llabs(ns) / 1000;

	snprintf(buf, 32, "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", us / 1000000, us % 1000000);
}

/* NETADDR_NONE: the packet is not forwarded. */
static struct netaddr first_hop(const struct replay_list *list, const struct steer_result *steered)
{
	if (steered->verdict != VERDICT_FORWARDED)
		return (struct netaddr){0};
	return routes_hop(list->pipeline->routes, steered->table, steered->hops[0]);
}

static void print_text(struct replay_list *list, const struct burst *burst, uint32_t lane,
	const struct steer_result *steered, const char *reason)
{
	const struct replay_list_packet *packet = &list->packets[lane];
	const char *verdict = verdict_name(burst->verdict[lane]);
	struct netaddr hop = first_hop(list, steered);
	char label[16], address[NETADDR_TEXT_MAX], time[32];
	struct flow_text flow;

	format_time(list, &packet->time, time);
	if (packet->has_flow) {
		flow_text_format(&packet->flow, &flow);
		command_print(
			4, "%" PRIu64 "  %s  %s %s > %s", list->number, time, flow.what, flow.source, flow.destination);
	} else {
		command_print(4, "%" PRIu64 "  %s  %s", list->number, time, packet->text);
	}
	if (steered->verdict == VERDICT_FORWARDED)
		command_print(6, "    %s: table %s, row %u, first hop %s: %s", verdict,
			table_label(&list->pipeline->routes->set, steered->table, label), steered->row,
			netaddr_format(&hop, address), reason);
	else
		command_print(6, "    %s: %s", verdict, reason);
}

static void print_json(struct replay_list *list, const struct burst *burst, uint32_t lane,
	const struct steer_result *steered, const char *reason)
{
	const struct replay_list_packet *packet = &list->packets[lane];
	char address[NETADDR_TEXT_MAX], time[40];
	struct netaddr hop = first_hop(list, steered);
	struct flow_text flow = {.what = packet->text};
	json_t *json;

	snprintf(time, sizeof(time), "%jd.%09ld", (intmax_t)packet->time.tv_sec, (long)packet->time.tv_usec);
	if (packet->has_flow)
		flow_text_format(&packet->flow, &flow);
	json = json_pack("{s:I, s:s, s:i, s:s, s:s, s:s}", "number", (json_int_t)list->number, "time", time, "size",
		(int)burst->size[lane], "verdict", verdict_name(burst->verdict[lane]), "reason", reason, "what",
		flow.what);
	if (packet->has_flow)
		json_object_update_new(
			json, json_pack("{s:s, s:s}", "source", flow.source, "destination", flow.destination));
	if (steered->verdict == VERDICT_FORWARDED)
		json_object_update_new(json, json_pack("{s:i, s:s?, s:i, s:s}", "table_index", steered->table, "table",
						     list->pipeline->routes->set.tables[steered->table].name, "row",
						     steered->row, "first_hop", netaddr_format(&hop, address)));
	if (steered->quic)
		json_object_set_new(json, "quic", json_string(quic_fate_name(steered->quic)));
	fputs(list->any ? ",\n" : "\n", stdout);
	json_dumpf(json, stdout, JSON_PRESERVE_ORDER);
	json_decref(json);
}

void replay_list_print(struct replay_list *list, const struct burst *burst)
{
	for (uint32_t lane = 0; lane < burst->count; lane++) {
		const struct replay_list_packet *packet = &list->packets[lane];
		struct steer_result steered = {.verdict = VERDICT_DROP_UNMATCHED};
		char reason[REASON_MAX];

		if (list->number++ == 0)
			list->start = packet->time;
		if (list->drops_only && burst->verdict[lane] == VERDICT_FORWARDED)
			continue;
		if (packet->has_flow && packet->admitted)
			steered = steer_flow(&packet->flow, list->pipeline->routes, list->pipeline->steering);
		explain(list, burst, lane, &steered, reason);
		if (list->json)
			print_json(list, burst, lane, &steered, reason);
		else
			print_text(list, burst, lane, &steered, reason);
		list->any = true;
	}
}
