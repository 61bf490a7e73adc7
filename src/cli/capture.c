/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/capture.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"

/* Prints libpcap's message with the path in front, which some of these messages have already. */
static int print_error(const char *path, const char *text)
{
	size_t length = strlen(path);

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
	command_error("%s: link type is %d (%s), but only Ethernet (EN10MB) is supported", path, pcap_datalink(in),
		name ? name : "unknown");
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

pcap_dumper_t *capture_create(const char *path)
{
	pcap_t *dead = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, CAPTURE_MAX_FRAME, PCAP_TSTAMP_PRECISION_NANO);
	FILE *file = fopen(path, "we");
	pcap_dumper_t *out = dead && file ? pcap_dump_fopen(dead, file) : NULL;

	if (!file)
		command_error("%s: cannot write the capture: %s", path, strerror(errno));
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
		command_error("%s: cannot write the capture: %s", path, strerror(errno));
	pcap_dump_close(out);
	return written;
}
