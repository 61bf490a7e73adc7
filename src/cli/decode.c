/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/replay/capture.h"
#include "cli/cli.h"
#include "cli/flow_text.h"
#include "common/byteorder.h"
#include "common/net.h"
#include "common/text.h"
#include "gue/decode.h"
#include "packet/flow.h"

enum { PORT, JSON };

static const struct command_option options[] = {
	[PORT] = {"port", "N", "UDP port of GUE", TEXT_OF(GUE_PORT), 1, UINT16_MAX},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

#define STATUS_COUNT (DECODE_BAD_INDEX + 1)

struct decode {
	const char *path;
	pcap_t *in;
	uint16_t port;
	bool json;
	bool failed;
	uint64_t number; /* of the packet in the capture, from 1 */
	uint64_t counts[STATUS_COUNT];
	uint8_t frame[NET_ETHERNET_SIZE + UINT16_MAX]; /* the inner packet with an Ethernet header */
};

struct inner {
	enum verdict verdict; /* VERDICT_FORWARDED: the other members are valid */
	struct flow_text flow;
};

static const char *const checksum_names[] = {
	[DECODE_CHECKSUM_NONE] = "none",
	[DECODE_CHECKSUM_RIGHT] = "right",
	[DECODE_CHECKSUM_WRONG] = "wrong",
};

/* Parses the inner packet with the director's parser, which expects an Ethernet frame. */
static void parse_inner(struct decode *decode, const struct decode_packet *packet, struct inner *inner)
{
	uint32_t size = packet->inner_size < UINT16_MAX ? packet->inner_size : UINT16_MAX;
	bool v4 = packet->inner_protocol == GUE_INNER_IPV4;
	struct flow flow;

	memset(decode->frame, 0, NET_ETHERNET_SIZE);
	store_be16(decode->frame + 12, v4 ? NET_TYPE_IPV4 : NET_TYPE_IPV6);
	memcpy(decode->frame + NET_ETHERNET_SIZE, packet->inner, size);
	inner->verdict = flow_parse(decode->frame, NET_ETHERNET_SIZE + size, NET_ETHERNET_SIZE + size, &flow);
	if (inner->verdict != VERDICT_FORWARDED)
		return;
	flow_text_format(&flow, &inner->flow);
}

static json_t *describe_hops(const struct decode_packet *packet)
{
	json_t *hops = json_array();
	char text[NETADDR_TEXT_MAX];

	for (uint8_t i = 0; i < packet->hop_count; i++)
		json_array_append_new(hops, json_string(netaddr_format(&packet->hops[i], text)));
	return hops;
}

static json_t *describe(const struct decode *decode, const struct decode_packet *packet, const struct inner *inner)
{
	char from[NETADDR_TEXT_MAX], to[NETADDR_TEXT_MAX];
	json_t *about;

	if (inner->verdict == VERDICT_FORWARDED)
		about = json_pack("{s:s, s:s, s:s, s:i}", "what", inner->flow.what, "source", inner->flow.source,
			"destination", inner->flow.destination, "size", (int)packet->inner_size);
	else
		about = json_pack("{s:s, s:i}", "what", verdict_name(inner->verdict), "size", (int)packet->inner_size);
	return json_pack("{s:I, s:s, s:s, s:i, s:i, s:s, s:i, s:o, s:i, s:o}", "number", (json_int_t)decode->number,
		"source", netaddr_format(&packet->source, from), "destination",
		netaddr_format(&packet->destination, to), "ttl", packet->ttl, "udp_source_port", packet->source_port,
		"udp_checksum", checksum_names[packet->udp_checksum], "next_hop", packet->next_hop, "hops",
		describe_hops(packet), "inner_protocol", packet->inner_protocol, "inner", about);
}

static void print(const struct decode *decode, const struct decode_packet *packet, const struct inner *inner)
{
	char from[NETADDR_TEXT_MAX], to[NETADDR_TEXT_MAX], next[16] = "", checksum[24] = "",
							   hops[GUE_MAX_LATER_HOPS * NETADDR_TEXT_MAX];
	size_t length = 0;

	hops[0] = '\0';
	for (uint8_t i = 0; i < packet->hop_count; i++)
		length += (size_t)snprintf(
			hops + length, sizeof(hops) - length, " %s", netaddr_format(&packet->hops[i], to));
	if (packet->hop_count)
		snprintf(next, sizeof(next), "  next %u of", packet->next_hop);
	if (packet->udp_checksum != DECODE_CHECKSUM_NONE)
		snprintf(checksum, sizeof(checksum), "  checksum %s", checksum_names[packet->udp_checksum]);
	command_print(6, "%" PRIu64 "  %s > %s  ttl %u  udp %u%s%s%s", decode->number,
		netaddr_format(&packet->source, from), netaddr_format(&packet->destination, to), packet->ttl,
		packet->source_port, checksum, next, hops);
	if (inner->verdict == VERDICT_FORWARDED)
		command_print(6, "    %s %s > %s, %" PRIu32 " byte%s", inner->flow.what, inner->flow.source,
			inner->flow.destination, packet->inner_size, text_plural(packet->inner_size));
	else
		command_print(6, "    inner packet: %s, %" PRIu32 " byte%s", verdict_name(inner->verdict),
			packet->inner_size, text_plural(packet->inner_size));
}

static void decode_one(struct decode *decode, const uint8_t *frame, uint32_t size)
{
	struct decode_packet packet;
	struct inner inner = {0};
	enum decode_status status = decode_frame(frame, size, decode->port, &packet);

	decode->number++;
	decode->counts[status]++;
	if (status != DECODE_OK)
		return;
	parse_inner(decode, &packet, &inner);
	if (decode->json) {
		json_t *json = describe(decode, &packet, &inner);

		fputs(decode->counts[DECODE_OK] > 1 ? ",\n" : "\n", stdout);
		json_dumpf(json, stdout, JSON_PRESERVE_ORDER);
		json_decref(json);
	} else {
		print(decode, &packet, &inner);
	}
}

static void finish(const struct decode *decode)
{
	json_t *counts = json_object();

	for (int i = 0; i < STATUS_COUNT; i++) {
		if (decode->json)
			json_object_set_new(counts, decode_status_name(i), json_integer((json_int_t)decode->counts[i]));
		else if (decode->counts[i])
			printf("%12" PRIu64 "  %s\n", decode->counts[i], decode_status_name(i));
	}
	if (decode->json) {
		fputs("\n], \"counts\": ", stdout);
		json_dumpf(counts, stdout, JSON_PRESERVE_ORDER);
		puts("}");
	}
	json_decref(counts);
}

static int decode_run(const struct command_args *args)
{
	struct pcap_pkthdr *header;
	const uint8_t *frame;
	struct decode *decode;
	bool failed;

	decode = alloc_zeroed(1, sizeof(*decode));
	decode->path = args->operands[0];
	decode->port = (uint16_t)args->numbers[PORT];
	decode->json = args->options[JSON];
	decode->in = capture_open(decode->path);
	decode->failed = !decode->in;
	if (decode->in) {
		/* Prints each packet at once, because a capture can be larger than memory. */
		if (decode->json)
			fputs("{\"packets\": [", stdout);
		while (capture_next(decode->in, decode->path, &header, &frame, &decode->failed))
			decode_one(decode, frame, header->caplen);
		finish(decode);
		pcap_close(decode->in);
	}
	failed = decode->failed;
	free(decode);
	return failed ? COMMAND_FAILED : COMMAND_OK;
}

const struct command decode_command = {
	.name = "decode",
	.run = decode_run,
	.operands = "IN.pcap",
	.summary = "Print the GUE packets of a capture: addresses, hops, inner flow",
	.options = options,
};
