/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/replay/capture.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static bool is_standard(const char *path)
{
	return strcmp(path, CAPTURE_STANDARD) == 0;
}

/* Text must not get into a capture on standard output, whatever the user calls it. */
static bool is_stdout(const char *path)
{
	return is_standard(path) || strcmp(path, "/dev/stdout") == 0;
}

/* Prints libpcap's message with the path in front, which some of these messages have already. */
static int print_error(const char *path, const char *text)
{
	size_t length = strlen(path);

	if (is_standard(path))
		return command_error("standard input: %s", text);
	if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
		text += length + 2;
	return command_error("%s: %s", path, text);
}

pcap_t *capture_open(const char *path)
{
	char text[PCAP_ERRBUF_SIZE];
	pcap_t *in = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, text);
	const char *name;

	if (!in) {
		print_error(path, text);
		return NULL;
	}
	if (pcap_datalink(in) == DLT_EN10MB)
		return in;
	name = pcap_datalink_val_to_name(pcap_datalink(in));
	command_error("%s: link type is %d (%s), but only Ethernet (EN10MB) is supported",
		is_standard(path) ? "standard input" : path, pcap_datalink(in), name ? name : "unknown");
	pcap_close(in);
	return NULL;
}

bool capture_next(pcap_t *in, const char *path, struct pcap_pkthdr **header, const uint8_t **frame, bool *failed)
{
	int result = pcap_next_ex(in, header, frame);

	if (result == PCAP_ERROR) {
		print_error(path, pcap_geterr(in));
		*failed = true;
	}
	if (result == 1 && (*header)->caplen > CAPTURE_MAX_FRAME) {
		print_error(path, "a frame is larger than 262144 bytes");
		*failed = true;
		return false;
	}
	return result == 1;
}

/* The messages and counts for people make way for the capture. Returns NULL after an error, and sets errno. */
static FILE *take_stdout(void)
{
	int fd = dup(STDOUT_FILENO);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (file && fflush(stdout) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return file;
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return NULL;
}

pcap_dumper_t *capture_create(const char *path)
{
	pcap_t *dead;
	FILE *file;
	pcap_dumper_t *out;

	if (is_stdout(path) && isatty(STDOUT_FILENO)) {
		command_error("standard output is a terminal: send the capture to a file or a pipe");
		return NULL;
	}
	dead = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, CAPTURE_MAX_FRAME, PCAP_TSTAMP_PRECISION_NANO);
	file = is_stdout(path) ? take_stdout() : fopen(path, "we");
	out = dead && file ? pcap_dump_fopen(dead, file) : NULL;

	if (!file)
		command_error("%s: cannot write the capture: %s", is_stdout(path) ? "standard output" : path,
			strerror(errno));
	else if (!out)
		print_error(path, dead ? pcap_geterr(dead) : "out of memory");
	if (file && !out)
		fclose(file);
	if (dead)
		pcap_close(dead);
	return out;
}

bool capture_finish(pcap_dumper_t *out, const char *path)
{
	bool written = pcap_dump_flush(out) == 0 && !ferror(pcap_dump_file(out));

	if (!written)
		command_error("%s: cannot write the capture: %s", is_stdout(path) ? "standard output" : path,
			strerror(errno));
	pcap_dump_close(out);
	return written;
}
