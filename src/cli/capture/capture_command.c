/* SPDX-License-Identifier: BSD-3-Clause */
/* `capture`: shows packets of a running director, or writes them to a pcapng file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "cli/alloc.h"
#include "cli/capture/capture_client.h"
#include "cli/capture/capture_text.h"
#include "cli/capture/pcapng.h"
#include "cli/telemetry.h"
#include "common/clock.h"
#include "common/text.h"
#include "packet/capture_program.h"

enum { FILTER = TELEMETRY_OPTIONS, VERDICT, TABLE, COUNT, SECONDS, SNAPLEN, WRITE, FORCE };

#define ASKED_MS 2000 /* limit for the reply to the request after a signal */

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[FILTER] = {"filter", "BPF", "packets that match this filter when they arrive, as for tcpdump"},
	[VERDICT] = {"verdict", "NAMES",
		"packets with one of these verdicts, with commas between; drop: all that are dropped"},
	[TABLE] = {"table", "TABLE", "packets of this table: its name, or \"#INDEX\""},
	[COUNT] = {"count", "NUMBER", "end after this number of packets", "100000", 1, CAPTURE_MAX_COUNT},
	[SECONDS] = {"seconds", "SECONDS", "end after this time, at most 3600", "60", 1, CAPTURE_MAX_SECONDS},
	[SNAPLEN] = {"snaplen", "BYTES", "bytes of each packet (default: all)", NULL, 1, CAPTURE_MAX_SNAPLEN},
	[WRITE] = {"write", "FILE", "write a pcapng file; \"-\": to standard output"},
	[FORCE] = {"force", NULL, "replace FILE if it exists"},
	{0},
};

struct capture {
	struct capture_request request;
	struct capture_client client;
	struct capture_start start;
	struct capture_labels labels[2]; /* of the last two generations */
	const char *path; /* of the file; NULL: print lines */
	struct pcapng pcapng; /* if path is not NULL */
	int signals; /* signalfd */
	uint64_t packets;
	bool asked; /* for the end */
	bool failed; /* the output */
};

static bool is_standard(const char *path)
{
	return strcmp(path, "-") == 0;
}

static int parse_verdicts(const char *text, uint32_t *verdicts)
{
	const char *wrong;
	int length;

	*verdicts = CAPTURE_ALL_VERDICTS;
	wrong = text ? capture_text_parse(text, verdicts, &length) : NULL;
	if (!wrong)
		return COMMAND_OK;
	command_error("capture: --verdict: there is no verdict '%.*s'; the verdicts are:", length, wrong);
	for (unsigned verdict = 0; verdict <= CAPTURE_RETURNED; verdict++)
		fprintf(stderr, "  %s\n", capture_text_verdict(verdict));
	fputs("  drop (all that begin with drop_)\n", stderr);
	return COMMAND_USAGE;
}

/* Compiles the filter here, so that the director gets a program that it only has to check. */
static int compile(const char *text, struct capture_request *request)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, CAPTURE_MAX_SNAPLEN);
	struct bpf_program program;
	const char *fault;
	int code = COMMAND_OK;

	if (!dead)
		return command_error("out of memory");
	if (pcap_compile(dead, &program, text, 1, PCAP_NETMASK_UNKNOWN) < 0) {
		code = command_usage("capture: --filter: '%s': %s", text, pcap_geterr(dead));
		pcap_close(dead);
		return code;
	}
	if (program.bf_len > CAPTURE_MAX_PROGRAM) {
		code = command_usage(
			"capture: --filter: the filter has %u instructions, but the director accepts at most %d: name a network instead of many addresses",
			program.bf_len, CAPTURE_MAX_PROGRAM);
	} else {
		request->program_size = program.bf_len;
		memcpy(request->program, program.bf_insns, program.bf_len * sizeof(program.bf_insns[0]));
		snprintf(request->filter, sizeof(request->filter), "%s", text);
		fault = capture_program_check(request->program, request->program_size);
		if (fault)
			code = command_usage(
				"capture: --filter: '%s': the director does not accept the filter's program: %s; protochain is not possible",
				text, fault);
	}
	pcap_freecode(&program);
	pcap_close(dead);
	return code;
}

static int parse(const struct command_args *args, struct capture_request *request)
{
	const char *table = args->options[TABLE], *filter = args->options[FILTER];
	int code;

	*request = (struct capture_request){
		.protocol = CAPTURE_PROTOCOL,
		.snaplen = args->options[SNAPLEN] ? args->numbers[SNAPLEN] : CAPTURE_MAX_SNAPLEN,
		.seconds = args->numbers[SECONDS],
		.count = args->numbers[COUNT],
	};
	code = parse_verdicts(args->options[VERDICT], &request->verdicts);
	if (code != COMMAND_OK)
		return code;
	if (table && (strlen(table) >= sizeof(request->table) || !*table))
		return command_usage("capture: --table: '%s' is no name of a table", table);
	snprintf(request->table, sizeof(request->table), "%s", table ? table : "");
	return filter && *filter ? compile(filter, request) : COMMAND_OK;
}

/* A capture cannot be repeated, so a file with any content is kept, unless the user says otherwise. */
static int check_file(const char *path, bool force)
{
	struct stat info;

	if (is_standard(path))
		return isatty(STDOUT_FILENO)
			       ? command_error("standard output is a terminal: send the capture to a file or a pipe")
			       : COMMAND_OK;
	if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0 || force)
		return COMMAND_OK;
	return command_error("%s: the file exists: name another file, or give --force to replace it", path);
}

/* Only its owner may read the file, because it has the packets of clients. */
static int open_file(struct capture *capture)
{
	const char *path = capture->path;
	struct stat info;

	capture->pcapng.fd =
		is_standard(path) ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (capture->pcapng.fd < 0)
		return command_error("%s: cannot write the capture: %s", path, strerror(errno));
	/* A file that was there keeps its mode when it is opened. */
	if (!is_standard(path) && fstat(capture->pcapng.fd, &info) == 0 && S_ISREG(info.st_mode) &&
		fchmod(capture->pcapng.fd, 0600) < 0)
		return command_error(
			"%s: other users can read the file, and its mode cannot be changed: %s: name another file",
			path, strerror(errno));
	return COMMAND_OK;
}

static void put_head(struct capture *capture)
{
	char text[1024];

	snprintf(text, sizeof(text), "GLB Director %.*s", (int)sizeof(capture->start.version), capture->start.version);
	pcapng_put_header(&capture->pcapng, "glb-director-cli " GLB_VERSION, text);
	for (uint32_t i = 0; i < capture->start.port_count; i++) {
		const struct capture_port *port = &capture->start.ports[i];

		snprintf(text, sizeof(text), "port %u of GLB Director", port->id);
		pcapng_put_interface(&capture->pcapng, port->name, text, port->mac, capture->request.snaplen,
			capture->request.filter);
	}
}

/* Returns the index of the port in start.ports. */
static uint32_t find_port(const struct capture *capture, uint16_t id)
{
	uint32_t i = 0;

	while (i + 1 < capture->start.port_count && capture->start.ports[i].id != id)
		i++;
	return i;
}

static void put_frames(struct capture *capture, const struct capture_record *record, const char *outcome)
{
	struct pcapng_packet packet = {.time = record->time, .number = record->number, .comment = outcome};

	if (record->in_port != CAPTURE_NO_PORT) {
		packet.interface = find_port(capture, record->in_port);
		packet.direction = PCAPNG_IN;
		packet.frame = record->data;
		packet.size = record->in_size;
		packet.captured = record->in_captured;
		pcapng_put_packet(&capture->pcapng, &packet);
	}
	if (record->out_port != CAPTURE_NO_PORT) {
		packet.interface = find_port(capture, record->out_port);
		packet.direction = PCAPNG_OUT;
		packet.frame = record->data + record->in_captured;
		packet.size = record->out_size;
		packet.captured = record->out_captured;
		pcapng_put_packet(&capture->pcapng, &packet);
	}
}

static struct capture_labels *find_labels(struct capture *capture, uint64_t generation)
{
	for (unsigned i = 0; i < 2; i++)
		if (capture->labels[i].generation == generation)
			return &capture->labels[i];
	return NULL;
}

/* Keeps labels that follow those that are known, in place of the older generation if they are of a new one. */
static void take_labels(struct capture *capture)
{
	const struct capture_tables *head = (const struct capture_tables *)capture->client.message;
	const char *at = (const char *)(head + 1), *end = (const char *)capture->client.message + capture->client.size;
	struct capture_labels *labels = find_labels(capture, head->generation);

	if (!labels) {
		labels = &capture->labels[capture->labels[0].generation > capture->labels[1].generation];
		*labels = (struct capture_labels){.generation = head->generation};
	}
	for (uint32_t i = 0; i < head->count && labels->count < TABLE_MAX_TABLES && at < end; i++) {
		size_t length = strnlen(at, (size_t)(end - at));

		snprintf(labels->labels[labels->count++], CAPTURE_TEXT, "%.*s", (int)length, at);
		at += length + 1;
	}
}

/*
 * Returns whether the record belongs to another table than the one that the user named. The director recognises a table
 * by its counters, and after two reloads those of a table that is gone may belong to a new one.
 */
static bool is_other_table(
	const struct capture *capture, const struct capture_record *record, const struct capture_labels *labels)
{
	const char *table = capture->request.table;

	return *table && *table != '#' && record->has_table && labels && record->table < labels->count &&
	       strcmp(labels->labels[record->table], table) != 0;
}

static void take_record(struct capture *capture, const struct capture_record *record)
{
	const struct capture_labels *labels = find_labels(capture, record->generation);
	char outcome[CAPTURE_OUTCOME_MAX], text[CAPTURE_OUTCOME_MAX + 64];
	uint16_t id = record->in_port != CAPTURE_NO_PORT ? record->in_port : record->out_port;

	if (is_other_table(capture, record, labels))
		return;
	capture->packets++;
	capture_text_outcome(record, labels, outcome);
	if (!capture->path) {
		const char *port = capture->start.ports[find_port(capture, id)].name;

		capture_text_print(stdout, record, port, outcome);
		return;
	}
	snprintf(text, sizeof(text), "%s, lcore %u", outcome, record->lcore);
	if (record->generation)
		snprintf(text, sizeof(text), "%s, generation %" PRIu64 ", lcore %u", outcome, record->generation,
			record->lcore);
	put_frames(capture, record, text);
}

/* Asks the director for the end. It sends what it has, and then CAPTURE_ENDED. */
static void ask_end(struct capture *capture)
{
	if (!capture->asked)
		shutdown(capture->client.fd, SHUT_WR);
	capture->asked = true;
}

/* Writes what there is now, so that another program sees it at once. */
static void write_out(struct capture *capture)
{
	int error = capture->path ? pcapng_flush(&capture->pcapng) : 0;

	if (!capture->path && (fflush(stdout) || ferror(stdout)))
		error = errno ? errno : EIO;
	if (!error || capture->failed)
		return;
	capture->failed = true;
	if (error != EPIPE)
		command_error("%s: cannot write the capture: %s",
			capture->path && !is_standard(capture->path) ? capture->path : "standard output",
			strerror(error));
}

/* Waits for a message of the director; -1: without a limit. Returns false if it should not be waited for. */
static bool wait_message(struct capture *capture, int timeout_ms)
{
	struct pollfd fds[] = {
		{capture->client.fd, POLLIN, 0},
		{capture->signals, POLLIN, 0},
		/* The reader of a pipe may end while there is nothing to write. */
		{timeout_ms >= 0 || (capture->path && !is_standard(capture->path)) ? -1 : STDOUT_FILENO, 0, 0},
	};
	int found;

	while ((found = poll(fds, 3, timeout_ms)) > 0 || (found < 0 && errno == EINTR)) {
		struct signalfd_siginfo info;

		if (fds[2].revents & POLLERR)
			return false;
		if (fds[1].revents && read(capture->signals, &info, sizeof(info)) == sizeof(info)) {
			ask_end(capture);
			timeout_ms = timeout_ms < 0 ? -1 : ASKED_MS;
		}
		if (fds[0].revents)
			return true;
	}
	return false;
}

static int print_end(const struct capture *capture, const struct capture_end *end)
{
	fprintf(stderr, "%" PRIu64 " packet%s captured", capture->packets, text_plural(capture->packets));
	if (end->counters.lost)
		fprintf(stderr, ", %" PRIu64 " lost because this program or the director's capture thread was too slow",
			end->counters.lost);
	if (end->counters.skipped)
		fprintf(stderr, ", %" PRIu64 " not examined because forwarding has priority", end->counters.skipped);
	fputc('\n', stderr);
	if (end->reason == CAPTURE_COUNT_REACHED)
		command_note("the capture ended at its number of packets: --count %" PRIu32, capture->request.count);
	else if (end->reason == CAPTURE_TIME_REACHED)
		command_note("the capture ended after its time: --seconds %" PRIu32, capture->request.seconds);
	else if (end->reason == CAPTURE_STOPPING)
		return command_error("the capture ended, because the director stops");
	return COMMAND_OK;
}

static int finish(struct capture *capture)
{
	const struct capture_end *end = (const struct capture_end *)capture->client.message;

	if (capture->path) {
		char text[128];

		snprintf(text, sizeof(text), "all ports; %" PRIu64 " packets were not examined", end->counters.skipped);
		pcapng_put_statistics(&capture->pcapng, 0, clock_read_ns(CLOCK_REALTIME), end->counters.matched,
			end->counters.lost, text);
		write_out(capture);
	}
	return capture->failed ? COMMAND_FAILED : print_end(capture, end);
}

static int receive_all(struct capture *capture)
{
	const struct capture_record *record;

	while (!capture->failed && wait_message(capture, -1)) {
		switch (capture_client_receive(&capture->client)) {
		case CAPTURE_TABLES:
			take_labels(capture);
			break;
		case CAPTURE_PACKETS:
			for (record = NULL; capture_client_next(&capture->client, &record);)
				take_record(capture, record);
			write_out(capture);
			break;
		case CAPTURE_ENDED:
			return finish(capture);
		default:
			return COMMAND_FAILED;
		}
	}
	return COMMAND_FAILED;
}

/* Signals end the capture, and then this program. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run_capture(struct capture *capture, const char *prefix, unsigned timeout)
{
	int code = capture_client_open(&capture->client, prefix, timeout);

	if (code != COMMAND_OK)
		return code;
	capture->signals = open_signals(); /* before anybody can see the capture, and end it by a signal */
	capture_client_send(&capture->client, &capture->request);
	wait_message(capture, (int)timeout * 1000);
	code = capture_client_reply(&capture->client);
	if (code != COMMAND_OK)
		return code;
	memcpy(&capture->start, capture->client.message, sizeof(capture->start));
	if (capture->path) {
		code = open_file(capture);
		if (code != COMMAND_OK)
			return code;
		put_head(capture);
		write_out(capture);
	}
	return receive_all(capture);
}

static int capture_command_run(const struct command_args *args)
{
	struct capture *capture;
	int code;

	capture = alloc_zeroed(1, sizeof(*capture));
	capture->client.fd = -1;
	capture->path = args->options[WRITE];
	code = parse(args, &capture->request);
	if (code == COMMAND_OK && args->options[FORCE] && !capture->path)
		code = command_usage("capture: --force needs --write");
	if (code == COMMAND_OK && capture->path)
		code = check_file(capture->path, args->options[FORCE]);
	if (code == COMMAND_OK)
		code = run_capture(capture, args->values[TELEMETRY_FILE_PREFIX], args->numbers[TELEMETRY_TIMEOUT]);
	pcapng_close(&capture->pcapng);
	if (capture->client.fd >= 0)
		close(capture->client.fd);
	free(capture);
	return code;
}

const struct command capture_command = {
	.name = "capture",
	.run = capture_command_run,
	.summary = "Show packets of a running director with their verdicts, or write them to a file",
	.options = options,
	.letters = "     c sw hV",
};
