/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run-frames PORT first-hop|connected [INTERFACE MTU sender|fib [CONFIG-FILE]]
 *
 * Runs the redirect program in the kernel (BPF_PROG_TEST_RUN) on the frames on standard input, one per
 * line in hexadecimal. For each it prints the XDP verdict as a number, the frame after the run, and the
 * counters that grew: "2 0200... total=1,accepted_syn=1 hop1=1". The program looks up sockets in the network
 * namespace of this process. With INTERFACE, the frames arrive on this interface, and unless MTU is 0,
 * the program sends SYN cookies. The next word is --forward. Without CONFIG-FILE, which is a redirect.conf, the program
 * accepts frames for every MAC address and from and to every address, and passes them on to any hop, 30 times. With it,
 * the program checks the addresses of this network namespace and of the interface as `attach` makes it do.
 *
 * Environment variables:
 * LINEAR=N            the first buffer of each frame has N bytes (Linux 6.18)
 * CHECKSUMS=N         the setting of that name, an enum redirect_checksums
 * METADATA=N          the frame has N bytes of XDP metadata before the program runs
 * The output begins with the metadata that the frame has after the run.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "redirect/config/redirect_conf.h"
#include "redirect/host/host.h"
#include "redirect/kernel/lists.h"
#include "redirect/kernel/pins.h"
#include "redirect/kernel/program.h"

#define MAX_METADATA 252
#define MAX_FRAME    9100 /* bytes; Linux before 5.18 takes about 3500, because it needs the rest of a page */

static const char *const names[] = {
#define X(symbol, name, help) [REDIRECT_##symbol] = name,
	REDIRECT_COUNTER_LIST(X)
#undef X
};

static void fail(const char *operation, int error)
{
	fprintf(stderr, "run-frames: %s: %s\n", operation, strerror(error));
	exit(1);
}

struct counts {
	uint64_t counters[REDIRECT_COUNTER_COUNT], hops[REDIRECT_HOPS];
};

static void read_counters(const struct program *program, struct counts *counts)
{
	int error = pins_sum(program->counters, REDIRECT_COUNTER_COUNT, counts->counters);

	if (!error)
		error = pins_sum(program->hops, REDIRECT_HOPS, counts->hops);
	if (error)
		fail("cannot read the counters", -error);
}

static size_t from_hex(const char *line, uint8_t *frame)
{
	size_t size = 0;
	unsigned int byte;

	for (; size < MAX_FRAME && sscanf(line + 2 * size, "%2x", &byte) == 1; size++)
		frame[size] = (uint8_t)byte;
	return size;
}

static void print_growth(const struct counts *before, const struct counts *after)
{
	const char *separator = " ";

	for (int i = 0; i < REDIRECT_COUNTER_COUNT; i++) {
		uint64_t grown = after->counters[i] - before->counters[i];

		if (!grown)
			continue;
		printf("%s%s=%llu", separator, names[i], (unsigned long long)grown);
		separator = ",";
	}
	for (int i = 0; i < REDIRECT_HOPS; i++)
		if (before->hops[i] != after->hops[i])
			printf(" hop%d=%llu", i + 1, (unsigned long long)(after->hops[i] - before->hops[i]));
	putchar('\n');
}

/* The value of an environment variable. */
static uint32_t number(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text ? (uint32_t)atoi(text) : otherwise;
}

static void run_frame(const struct program *program, const char *line, uint32_t ifindex)
{
	struct counts before, after;
	uint8_t frame[MAX_METADATA + MAX_FRAME] = {0}, out[sizeof(frame)];
	uint32_t metadata = number("METADATA", 0);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_out = out,
		.data_size_in = metadata + (uint32_t)from_hex(line, frame + metadata), .data_size_out = sizeof(out),
		.repeat = 1);
	struct xdp_md context = {
		.data = metadata,
		.data_end = number("LINEAR", opts.data_size_in),
		.ingress_ifindex = ifindex,
	};
	int error;

	if (ifindex > 1 || getenv("LINEAR") || metadata) { /* the kernel takes lo, whose index is 1, by itself */
		opts.ctx_in = &context;
		opts.ctx_size_in = sizeof(context);
	}

	read_counters(program, &before);
	error = bpf_prog_test_run_opts(program->program, &opts);
	if (error)
		fail("BPF_PROG_TEST_RUN", -error);
	read_counters(program, &after);
	printf("%u ", opts.retval);
	for (uint32_t i = 0; i < opts.data_size_out; i++)
		printf("%02x", out[i]);
	print_growth(&before, &after);
}

static void allow_all(const struct program *program)
{
	const enum redirect_list all[] = {
		REDIRECT_LIST_MAC, REDIRECT_LIST_LOCAL, REDIRECT_LIST_FROM, REDIRECT_LIST_TO, REDIRECT_LIST_NEXT_HOP};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (lists_put_any(&program->lists, all[i]) != 0)
			fail("cannot write the lists", errno);
}

static void read_conf(const char *path, struct redirect_settings *settings, struct redirect_conf *conf)
{
	struct faults faults = {.file = path};

	if (redirect_conf_read(path, conf, &faults) != 0)
		fail(faults_first_error(&faults), EINVAL);
	settings->max_hops = (uint8_t)conf->max_hops;
	settings->allow_to_local = conf->allow_to_local;
	faults_clear(&faults);
}

static void allow(const struct program *program, const struct redirect_conf *conf, uint32_t ifindex)
{
	struct host host;
	int error = lists_put_conf(&program->lists, conf);

	if (!error)
		error = host_read(ifindex, &host);
	if (error)
		fail("cannot fill the lists", -error);
	error = lists_put_host(&program->lists, &host);
	if (error)
		fail("cannot write the addresses of this host", -error);
	host_free(&host);
}

int main(int argc, char **argv)
{
	static char line[2 * MAX_FRAME + 2];
	struct redirect_settings settings = {.max_hops = 30, .checksums = (uint16_t)number("CHECKSUMS", 0)};
	struct redirect_conf conf = {0};
	struct redirect_offsets offsets;
	struct program program;
	uint32_t ifindex = 0;
	int error;

	if (argc != 3 && argc != 6 && argc != 7) {
		fputs("usage: run-frames PORT first-hop|connected [INTERFACE MTU sender|fib [CONFIG-FILE]]\n", stderr);
		return 2;
	}
	settings.port = (uint16_t)atoi(argv[1]);
	settings.udp = strcmp(argv[2], "connected") == 0 ? REDIRECT_UDP_CONNECTED : REDIRECT_UDP_FIRST_HOP;
	if (argc >= 6) {
		ifindex = if_nametoindex(argv[3]);
		if (!ifindex)
			fail(argv[3], errno);
		settings.mtu = (uint16_t)atoi(argv[4]);
		settings.syn_cookies = settings.mtu != 0;
		settings.forward = strcmp(argv[5], "fib") == 0 ? REDIRECT_FORWARD_FIB : REDIRECT_FORWARD_SENDER;
	}
	if (argc == 7)
		read_conf(argv[6], &settings, &conf);
	error = program_find_offsets(&offsets);
	if (error)
		fail("cannot read " PROGRAM_BTF, -error);
	error = program_load(&program, &settings, &conf, offsets, &PROGRAM_COUNTS_NEW);
	if (error)
		fail("cannot load the program", -error);
	if (argc == 7)
		allow(&program, &conf, ifindex);
	else
		allow_all(&program);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* the other end sends a frame after it has the result of the one before */
	while (fgets(line, sizeof(line), stdin))
		run_frame(&program, line, ifindex);
	program_unload(&program);
	return 0;
}
