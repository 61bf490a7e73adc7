/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends UDP packets from one network namespace, replies to them in another, and measures how long that takes. One thread does all, so no
 * scheduler stands between the packets: client and echo take turns on one CPU, and everything else can have the other.
 * bench/end_to_end/run.py runs it. Needs root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH         32
#define PREFIX_MOST   128
#define PACKET_MOST   256
#define RECEIVE_BYTES (32 << 20)
#define QUIET_NS      100000000ull /* what has not come back for so long is lost */
#define BUCKET_BITS   5 /* a bucket is at most 1/32 wider than its time */
#define BUCKETS       (64 << BUCKET_BITS)

/* The end of each packet. */
struct trailer {
	uint64_t sent_ns;
	uint8_t filler[24];
};

struct options {
	const char *client, *proxy; /* paths of network namespaces */
	struct sockaddr_in from, to, listen;
	uint8_t prefix[PREFIX_MOST]; /* before the trailer */
	size_t prefix_size;
	double rate; /* packets per second; 0: `window` packets are on their way at any time */
	unsigned window;
	double seconds;
};

struct batch {
	struct mmsghdr messages[BATCH];
	struct iovec vectors[BATCH];
	uint8_t bytes[BATCH][PACKET_MOST];
};

struct load {
	int send, listen, reply, back; /* sockets */
	uint64_t sent, received, lost; /* `lost`: packets that a window does not wait for any more */
	uint64_t last_ns; /* when the last reply came */
	uint32_t buckets[BUCKETS];
};

static void fail(const char *what)
{
	fprintf(stderr, "glb-load: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct sockaddr_in parse_address(const char *text)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	char ip[INET_ADDRSTRLEN];
	unsigned port;

	if (sscanf(text, "%15[0-9.]:%u", ip, &port) != 2 || inet_pton(AF_INET, ip, &address.sin_addr) != 1 ||
		port > 65535) {
		fprintf(stderr, "glb-load: '%s' is not ADDRESS:PORT\n", text);
		exit(2);
	}
	address.sin_port = htons((uint16_t)port);
	return address;
}

static void parse_prefix(struct options *options, const char *hex)
{
	unsigned byte;

	for (; options->prefix_size < PREFIX_MOST && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		options->prefix[options->prefix_size++] = (uint8_t)byte;
	if (*hex) {
		fputs("glb-load: --prefix is not hexadecimal, or too long\n", stderr);
		exit(2);
	}
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"client", required_argument, NULL, 'c'},
		{"from", required_argument, NULL, 'f'},
		{"listen", required_argument, NULL, 'l'},
		{"prefix", required_argument, NULL, 'p'},
		{"proxy", required_argument, NULL, 'x'},
		{"rate", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"to", required_argument, NULL, 't'},
		{"window", required_argument, NULL, 'w'},
		{NULL, 0, NULL, 0},
	};
	struct options options = {.seconds = 1};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			options.client = optarg;
			break;
		case 'f':
			options.from = parse_address(optarg);
			break;
		case 'l':
			options.listen = parse_address(optarg);
			break;
		case 'p':
			parse_prefix(&options, optarg);
			break;
		case 'x':
			options.proxy = optarg;
			break;
		case 'r':
			options.rate = strtod(optarg, NULL);
			break;
		case 's':
			options.seconds = strtod(optarg, NULL);
			break;
		case 't':
			options.to = parse_address(optarg);
			break;
		case 'w':
			options.window = (unsigned)strtoul(optarg, NULL, 10);
			break;
		default:
			exit(2);
		}
	}
	if (!options.client || !options.proxy || !(options.rate > 0 || options.window)) {
		fputs("glb-load: --client, --proxy, and --rate or --window are missing\n", stderr);
		exit(2);
	}
	return options;
}

static void enter(const char *namespace)
{
	int fd = open(namespace, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(namespace);
	close(fd);
}

/* Opens a UDP socket. `own` and `peer` may be NULL. */
static int open_socket(const struct sockaddr_in *own, const struct sockaddr_in *peer)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), size = RECEIVE_BYTES;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
		(own && bind(fd, (const struct sockaddr *)own, sizeof(*own))) ||
		(peer && connect(fd, (const struct sockaddr *)peer, sizeof(*peer))))
		fail("socket");
	return fd;
}

static void open_sockets(struct load *load, const struct options *options)
{
	struct sockaddr_in back = options->from;

	back.sin_port = htons((uint16_t)(ntohs(back.sin_port) + 1));
	enter(options->client);
	load->send = open_socket(&options->from, &options->to);
	load->back = open_socket(&back, NULL);
	enter(options->proxy);
	load->listen = open_socket(&options->listen, NULL);
	load->reply = open_socket(NULL, &back);
}

static void prepare(struct batch *batch)
{
	for (int i = 0; i < BATCH; i++) {
		batch->vectors[i] = (struct iovec){.iov_base = batch->bytes[i], .iov_len = PACKET_MOST};
		batch->messages[i].msg_hdr = (struct msghdr){.msg_iov = &batch->vectors[i], .msg_iovlen = 1};
	}
}

static void send_packets(struct load *load, const struct options *options, unsigned count)
{
	static struct batch batch;
	struct trailer trailer = {.sent_ns = now_ns()};
	int sent;

	prepare(&batch);
	for (unsigned i = 0; i < count; i++) {
		memcpy(batch.bytes[i], options->prefix, options->prefix_size);
		memcpy(batch.bytes[i] + options->prefix_size, &trailer, sizeof(trailer));
		batch.vectors[i].iov_len = options->prefix_size + sizeof(trailer);
	}
	sent = sendmmsg(load->send, batch.messages, count, 0);
	if (sent < 0 && errno != EAGAIN && errno != ENOBUFS)
		fail("send");
	load->sent += sent > 0 ? (unsigned)sent : 0;
}

/* The echo of the proxy: it sends the trailer of each packet back. */
static void reply(const struct load *load)
{
	static struct batch batch;
	int count;

	prepare(&batch);
	count = recvmmsg(load->listen, batch.messages, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < count; i++) {
		size_t size = batch.messages[i].msg_len,
		       kept = size < sizeof(struct trailer) ? size : sizeof(struct trailer);

		batch.vectors[i] = (struct iovec){.iov_base = batch.bytes[i] + size - kept, .iov_len = kept};
	}
	if (count > 0)
		sendmmsg(load->reply, batch.messages, (unsigned)count, 0);
}

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift = ns >> BUCKET_BITS ? 63 - BUCKET_BITS - (unsigned)__builtin_clzll(ns) : 0;

	return (shift << BUCKET_BITS) + (unsigned)(ns >> shift);
}

static uint64_t bucket_start(unsigned bucket)
{
	unsigned shift = bucket >> (BUCKET_BITS + 1) ? (bucket >> BUCKET_BITS) - 1 : 0;

	return (uint64_t)(bucket - (shift << BUCKET_BITS)) << shift;
}

static void take_replies(struct load *load)
{
	static struct batch batch;
	uint64_t now;
	int count;

	prepare(&batch);
	count = recvmmsg(load->back, batch.messages, BATCH, MSG_DONTWAIT, NULL);
	now = now_ns();
	for (int i = 0; i < count; i++) {
		struct trailer trailer;

		memcpy(&trailer, batch.bytes[i], sizeof(trailer));
		load->buckets[bucket_of(now - trailer.sent_ns)]++;
	}
	if (count > 0) {
		load->received += (unsigned)count;
		load->last_ns = now;
	}
}

static unsigned due(struct load *load, const struct options *options, uint64_t begin, uint64_t now)
{
	uint64_t wanted;

	if (options->rate > 0) {
		wanted = (uint64_t)((double)(now - begin) * options->rate / 1e9);
	} else {
		if (now > load->last_ns + QUIET_NS) {
			load->lost = load->sent - load->received;
			load->last_ns = now;
		}
		wanted = load->received + load->lost + options->window;
	}
	wanted -= wanted < load->sent ? wanted : load->sent;
	return wanted < BATCH ? (unsigned)wanted : BATCH;
}

static void run(struct load *load, const struct options *options)
{
	uint64_t begin = now_ns(), end = begin + (uint64_t)(options->seconds * 1e9), now;

	load->last_ns = begin;
	while ((now = now_ns()) < end) {
		unsigned count = due(load, options, begin, now);

		if (count)
			send_packets(load, options, count);
		reply(load);
		take_replies(load);
	}
	load->last_ns = end;
	while (load->received < load->sent && now_ns() < load->last_ns + QUIET_NS) {
		reply(load);
		take_replies(load);
	}
}

/* Returns the time in ns that this share of the packets needed at most. */
static uint64_t quantile(const struct load *load, double share)
{
	uint64_t before = 0;

	for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
		before += load->buckets[bucket];
		if (before && (double)before >= share * (double)load->received)
			return bucket_start(bucket);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct load load;
	struct options options = parse(argc, argv);

	open_sockets(&load, &options);
	run(&load, &options);
	printf("{\"sent\": %llu, \"received\": %llu, \"p50\": %llu, \"p99\": %llu, \"p999\": %llu}\n",
		(unsigned long long)load.sent, (unsigned long long)load.received,
		(unsigned long long)quantile(&load, 0.5), (unsigned long long)quantile(&load, 0.99),
		(unsigned long long)quantile(&load, 0.999));
	return EXIT_SUCCESS;
}
