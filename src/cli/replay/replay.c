/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a capture through pipeline_run() in bursts, exactly as a worker lcore of the director does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/replay/capture.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/replay/replay_list.h"
#include "common/clock.h"
#include "common/text.h"
#include "conf/conf_reader.h"
#include "director/conf/conf_tables.h"
#include "packet/pipeline.h"
#include "program/installed.h"

enum { CONFIG, GATEWAY_MAC, PORT_MAC, LIST, DROPS, FORCE, JSON };

static const struct command_option options[] = {
	[CONFIG] = {"config", "FILE", "director.conf", INSTALLED_DIRECTOR_CONF},
	[GATEWAY_MAC] = {"gateway-mac", "MAC", "MAC of the next hop (default: the configured one)"},
	[PORT_MAC] = {"port-mac", "MAC",
		"MAC of the director's port; frames to other MACs are dropped (default: 02:00:00:00:00:01, and all MACs are accepted)"},
	[LIST] = {"list", NULL, "print each packet: flow, verdict, first hop, and why"},
	[DROPS] = {"drops", NULL, "print each packet that is not forwarded, and why"},
	[FORCE] = {"force", NULL, "replace OUT.pcap even if it is not a capture"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

struct replay {
	const char *in_path, *out_path; /* out_path may be NULL */
	pcap_t *in;
	pcap_dumper_t *out;
	struct conf conf;
	enum isa isa; /* of the fast path */
	struct pipeline pipeline;
	struct too_big_limit too_big_limit;
	struct next_hops next_hops;
	struct burst burst;
	struct timeval times[BURST_MAX]; /* of the lanes; tv_usec has nanoseconds */
	uint32_t captured[BURST_MAX];
	uint64_t packets, cut, verdicts[VERDICT_COUNT], written;
	struct pcap_pkthdr *held; /* of a packet that was read but belongs to the next burst; NULL: there is none */
	const uint8_t *held_frame;
	bool failed;
	bool listing;
	struct replay_list list; /* only if listing */
	uint8_t *memory; /* the frames of all lanes, each with BURST_HEADROOM in front of it */
};

/* Packets that a worker receives at once arrived within this time, in nanoseconds. */
#define BURST_NS 1000000

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * CLOCK_NS_PER_S + (uint64_t)time->tv_usec;
}

/* Fetches the next packet of this burst. Returns false at the capture's end, and if the packet came too late for the
 * burst. */
static bool next(struct replay *replay, struct pcap_pkthdr **header, const uint8_t **frame)
{
	*header = replay->held;
	*frame = replay->held_frame;
	replay->held = NULL;
	if (!*header && !capture_next(replay->in, replay->in_path, header, frame, &replay->failed))
		return false;
	if (replay->burst.count && time_ns(&(*header)->ts) - time_ns(&replay->times[0]) > BURST_NS) {
		replay->held = *header;
		replay->held_frame = *frame;
		return false;
	}
	return true;
}

/* Fills the burst from the capture. Returns false at the capture's end. */
static bool fill(struct replay *replay)
{
	struct burst *burst = &replay->burst;
	uint8_t *at = replay->memory;
	struct pcap_pkthdr *header;
	const uint8_t *frame;

	burst->count = 0;
	while (burst->count < BURST_MAX && next(replay, &header, &frame)) {
		uint32_t lane = burst->count++;

		/* A frame that the snap length truncated is like one whose other bytes are in a later mbuf
		 * segment: the packet code can read only the first bytes. */
		at += BURST_HEADROOM;
		burst->frame[lane] = memcpy(at, frame, header->caplen);
		burst->headroom[lane] = BURST_HEADROOM;
		burst->readable[lane] = header->caplen;
		burst->size[lane] = header->len > header->caplen ? header->len : header->caplen;
		replay->captured[lane] = header->caplen;
		replay->times[lane] = header->ts;
		replay->cut += header->len > header->caplen;
		if (replay->listing)
			replay_list_note(&replay->list, burst, lane, header->ts);
		at += header->caplen;
	}
	replay->packets += burst->count;
	return burst->count > 0;
}

static void write_lane(struct replay *replay, uint32_t lane)
{
	struct burst *burst = &replay->burst;
	struct pcap_pkthdr header = {.ts = replay->times[lane], .len = burst->out_size[lane]};
	const uint8_t *out = burst->out[lane];
	uint32_t there = (uint32_t)(burst->frame[lane] + replay->captured[lane] - out);

	header.caplen = header.len < there ? header.len : there;
	pcap_dump((uint8_t *)replay->out, &header, out);
}

static void run_burst(struct replay *replay)
{
	struct burst *burst = &replay->burst;

	/* The same limit as in the director, but with the clock of the capture. */
	too_big_limit_tick(&replay->too_big_limit, time_ns(&replay->times[0]), CLOCK_NS_PER_S);
	pipeline_run(&replay->pipeline, burst);
	for (uint32_t lane = 0; lane < burst->count; lane++) {
		replay->verdicts[burst->verdict[lane]]++;
		if (!burst->out[lane])
			continue;
		replay->written++;
		if (replay->out)
			write_lane(replay, lane);
	}
	if (replay->listing)
		replay_list_print(&replay->list, burst);
}

static json_t *describe(const struct replay *replay)
{
	json_t *verdicts = json_object();

	for (int i = 0; i < VERDICT_COUNT; i++)
		json_object_set_new(verdicts, verdict_name(i), json_integer((json_int_t)replay->verdicts[i]));
	return json_pack("{s:I, s:I, s:I, s:s, s:o}", "packets", (json_int_t)replay->packets, "cut",
		(json_int_t)replay->cut, "sent", (json_int_t)replay->written, "isa", isa_name(replay->isa), "verdicts",
		verdicts);
}

/* Continues the object that begins with the list. */
static int print_json(const struct replay *replay)
{
	json_t *json = describe(replay);
	char *text;

	if (!replay->listing)
		return cli_print_json(json);
	text = json ? json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
	json_decref(json);
	if (!text)
		alloc_failed();
	printf("\n],%s\n", text + 1);
	free(text);
	return COMMAND_OK;
}

static int print(const struct replay *replay)
{
	const char *to = replay->out_path;
	uint64_t sum = 0;

	if (replay->list.any)
		putchar('\n');
	for (int i = 0; i < VERDICT_COUNT; i++) {
		sum += replay->verdicts[i];
		if (replay->verdicts[i])
			command_print(47, "%12" PRIu64 "  %6.2f%%  %-22s  %s", replay->verdicts[i],
				100.0 * (double)replay->verdicts[i] / (double)replay->packets, verdict_name(i),
				verdict_help(i));
	}
	printf("%12" PRIu64 "  packet%s read, each with one verdict\n", sum, text_plural(sum));
	if (replay->cut)
		printf("%12" PRIu64 "  of these %s truncated by the capture's snap length\n", replay->cut,
			replay->cut == 1 ? "is" : "are");
	command_print(14, "%12" PRIu64 "  packet%s %s%s", replay->written, text_plural(replay->written),
		to ? "written to " : "would be sent",
		!to                                 ? ""
		: strcmp(to, CAPTURE_STANDARD) == 0 ? "standard output"
						    : to);
	if (sum != replay->packets)
		return command_error("%" PRIu64 " packets were read: please report this", replay->packets);
	return COMMAND_OK;
}

/* Returns a path that stat(2) knows. */
static const char *real_path(const char *path, const char *standard)
{
	return path && strcmp(path, CAPTURE_STANDARD) == 0 ? standard : path;
}

static bool output_is_allowed(const struct command_args *args, const struct replay *replay)
{
	const struct output output = {
		.path = real_path(replay->out_path, "/dev/stdout"),
		.kind = OUTPUT_CAPTURE,
		.force = args->options[FORCE],
		.inputs = {args->operands[0], real_path(replay->in_path, "/dev/stdin"), args->values[CONFIG]},
	};

	return !replay->out_path || output_is_safe(&output);
}

/* The ISA of director.conf, if this host has it: the directors may run on other CPUs. */
static enum isa choose_isa(enum conf_isa wanted)
{
	enum isa isa = wanted == CONF_ISA_AUTO ? ISA_PLAIN : (enum isa)(wanted - CONF_ISA_SCALAR);

	return wanted != CONF_ISA_AUTO && isa_usable(isa) ? isa : isa_widest();
}

/* Reads the table, which the director would refuse without a source address for its proxies. */
static bool load_table(const char *path, const struct conf *conf, struct routes **routes, uint32_t *version)
{
	struct faults faults = {.file = path};

	if (!cli_load_routes(path, routes, version))
		return false;
	conf_tables_check(conf, &(*routes)->set, &faults);
	if (!faults.errors)
		return true;
	cli_print_faults(&faults, FAULTS_ERRORS);
	routes_free(*routes);
	return false;
}

/* Opens all files. Returns COMMAND_OK, or the exit code after an error message. */
static int open_all(const struct command_args *args, struct replay *replay)
{
	struct pipeline *pipeline = &replay->pipeline;
	struct routes *routes;
	uint32_t version;

	if (!output_is_allowed(args, replay) || !cli_load_conf(args->values[CONFIG], &replay->conf) ||
		!load_table(args->operands[0], &replay->conf, &routes, &version))
		return COMMAND_FAILED;
	replay->list.explainer = (struct explainer){.set = &routes->set, .has_seed = version == 0};
	pipeline->routes = routes;
	pipeline->steering = &replay->conf.steering;
	if (args->options[PORT_MAC])
		memcpy(&pipeline->port_mac, pipeline->outer.source_mac, sizeof(pipeline->outer.source_mac));
	else
		replay->conf.steering.admission.accept = ADMISSION_EVERY_FRAME;
	pipeline->outer.source_ip = replay->conf.outbound_src_ip;
	memcpy(pipeline->outer.source_ip6, replay->conf.outbound_src_ip6, sizeof(pipeline->outer.source_ip6));
	pipeline->next_hops = &replay->next_hops;
	pipeline->reply_to_sender = replay->conf.gateway_auto;
	replay->isa = choose_isa(replay->conf.isa);
	pipeline->fast = lanes_by_isa[replay->isa];
	if (!args->options[GATEWAY_MAC] && !replay->conf.gateway_auto)
		memcpy(&replay->next_hops.mac, replay->conf.gateway_mac, sizeof(replay->conf.gateway_mac));
	replay->in = capture_open(replay->in_path);
	if (!replay->in)
		return COMMAND_FAILED;
	if (replay->out_path && !(replay->out = capture_create(replay->out_path)))
		return COMMAND_FAILED;
	replay->memory = alloc_grown(NULL, BURST_MAX, BURST_HEADROOM + CAPTURE_MAX_FRAME);
	return COMMAND_OK;
}

static int parse_mac(const char *option, const char *text, uint8_t mac[6])
{
	const char *fault = conf_parse_unicast_mac(text, mac);

	return fault ? command_usage("replay: --%s: '%s' %s", option, text, fault) : COMMAND_OK;
}

/* Reads the options, or takes their defaults. */
static int parse_macs(const struct command_args *args, struct replay *replay)
{
	const char *gateway = args->options[GATEWAY_MAC], *port = args->options[PORT_MAC];
	uint8_t *source_mac = replay->pipeline.outer.source_mac, gateway_mac[6];
	int code = parse_mac("gateway-mac", gateway ? gateway : "02:00:00:00:00:02", gateway_mac);

	replay->next_hops.single = true;
	memcpy(&replay->next_hops.mac, gateway_mac, sizeof(gateway_mac));
	return code ? code : parse_mac("port-mac", port ? port : "02:00:00:00:00:01", source_mac);
}

static int replay_all(const struct command_args *args, struct replay *replay)
{
	int code;

	if (replay->listing && replay->list.json)
		fputs("{\"list\": [", stdout);
	while (fill(replay))
		run_burst(replay);
	if (replay->out && !capture_finish(replay->out, replay->out_path))
		replay->failed = true;
	replay->out = NULL;
	code = args->options[JSON] ? print_json(replay) : print(replay);
	return replay->failed ? COMMAND_FAILED : code;
}

static int replay_run(const struct command_args *args)
{
	static const uint8_t no_key[SIPHASH_KEY_SIZE]; /* every run gives the same result */
	struct replay *replay;
	int code;

	if (args->options[LIST] && args->options[DROPS])
		return command_usage("replay: --list and --drops exclude each other: give one of them");
	replay = aligned_alloc(_Alignof(struct replay), sizeof(*replay)); /* the pipeline uses whole cache lines */
	if (!replay)
		alloc_failed();
	memset(replay, 0, sizeof(*replay));
	replay->in_path = args->operands[1];
	replay->out_path = args->count > 2 ? args->operands[2] : NULL;
	replay->listing = args->options[LIST] || args->options[DROPS];
	replay->list.drops_only = args->options[DROPS];
	replay->list.json = args->options[JSON];
	replay->list.pipeline = &replay->pipeline;
	too_big_limit_init(&replay->too_big_limit, no_key, 0);
	replay->pipeline.too_big_limit = &replay->too_big_limit;
	code = parse_macs(args, replay);
	if (code == COMMAND_OK)
		code = open_all(args, replay);
	if (code == COMMAND_OK)
		code = replay_all(args, replay);
	if (replay->out)
		pcap_dump_close(replay->out);
	if (replay->in)
		pcap_close(replay->in);
	explainer_free(&replay->list.explainer);
	routes_free((struct routes *)replay->pipeline.routes);
	free(replay->memory);
	free(replay);
	return code;
}

const struct command replay_command = {
	.name = "replay",
	.run = replay_run,
	.operands = "TABLE IN.pcap [OUT.pcap]",
	.summary = "Run a capture through the director's packet code",
	.options = options,
};
