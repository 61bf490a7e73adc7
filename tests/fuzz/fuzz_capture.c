/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of a capture. Any bytes as the messages of a director to `glb-director-cli capture`, each after its size. And
 * as the filter of a request and a packet: libpcap runs each filter that capture_program_check() and bpf_validate()
 * accept, as workers do.
 */
#include <pcap/pcap.h>
#include <sys/socket.h>

#include "cli/capture/capture_client.h"
#include "cli/cli.h"
#include "common/byteorder.h"
#include "packet/capture_program.h"
#include "tests/fuzz/as_file.h"
#include "tests/fuzz/command_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_capture_client_open(struct capture_client *client, const char *prefix, unsigned timeout_s);
int __wrap_signalfd(int fd, const sigset_t *mask, int flags);

static int director;

/* The linker puts this in the place of the connection to a director. */
int __wrap_capture_client_open(struct capture_client *client, const char *prefix, unsigned timeout_s)
{
	(void)prefix;
	(void)timeout_s;
	client->fd = director;
	return COMMAND_OK;
}

/* A process opens it once, and leaves it open. */
int __wrap_signalfd(int fd, const sigset_t *mask, int flags)
{
	(void)fd;
	(void)mask;
	(void)flags;
	return -1;
}

static void send_messages(int fd, const uint8_t *data, size_t size)
{
	while (size > 2) {
		size_t bytes = load_be16(data) % 4096u;

		data += 2;
		size -= 2;
		bytes = bytes < size ? bytes : size;
		if (bytes && send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
		data += bytes;
		size -= bytes;
	}
}

static void read_messages(const uint8_t *data, size_t size, bool to_file)
{
	static const char *const lines[][COMMAND_LINE_MAX] = {
		{"f", "capture", "--table=v4"}, {"f", "capture", "--write", "FILE", "--force"}};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		abort();
	send_messages(pair[0], data, size);
	shutdown(pair[0], SHUT_WR);
	director = pair[1];
	command_line(&capture_command, lines[to_file], as_file(NULL, 0));
	close(pair[0]);
}

static void run_filter(const uint8_t *data, size_t size)
{
	struct capture_instruction program[CAPTURE_MAX_PROGRAM];
	uint32_t count = (uint32_t)(data[0] < size / sizeof(*program) ? data[0] : size / sizeof(*program));
	uint8_t *packet;

	memcpy(program, data + 1, count * sizeof(*program) < size ? count * sizeof(*program) : size - 1);
	if (!count || capture_program_check(program, count) || !bpf_validate((struct bpf_insn *)program, (int)count))
		return;
	size -= 1 + count * sizeof(*program) < size ? 1 + count * sizeof(*program) : size;
	packet = malloc(size);
	memcpy(packet, data + 1, size);
	pcap_offline_filter(&(struct bpf_program){count, (struct bpf_insn *)program},
		&(struct pcap_pkthdr){.caplen = (bpf_u_int32)size, .len = (bpf_u_int32)size + 4}, packet);
	free(packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] % 4 < 2)
		read_messages(data + 1, size - 1, data[0] % 4);
	else
		run_filter(data + 1, size - 1);
	return 0;
}
