/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures of Ethernet frames, pcap or pcapng in, pcap out, by libpcap. */
#ifndef GLB_CLI_CAPTURE_H
#define GLB_CLI_CAPTURE_H

#include <stdbool.h>

#include <pcap/pcap.h>

#define CAPTURE_MAX_FRAME 262144 /* libpcap's own limit for Ethernet */

/* NULL: cannot be opened or is no Ethernet capture, and was reported. Timestamps have nanoseconds.
 * pcap_close() it. */
pcap_t *capture_open(const char *path);

/* The next frame, of at most CAPTURE_MAX_FRAME bytes. False at the end; *failed tells that the file
 * broke off, which was reported with `path`. */
bool capture_next(pcap_t *in, const char *path, struct pcap_pkthdr **header, const uint8_t **frame, bool *failed);

/* NULL: cannot be written, and was reported. capture_finish() it. */
pcap_dumper_t *capture_create(const char *path);

/* False: not everything could be written, which was reported. */
bool capture_finish(pcap_dumper_t *out, const char *path);

#endif
