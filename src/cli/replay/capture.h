/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads captures of Ethernet frames (pcap or pcapng) and writes captures (pcap) with libpcap. One thread. */
#pragma once

#include <stdbool.h>

#include <pcap/pcap.h>

#define CAPTURE_MAX_FRAME 262144 /* bytes, libpcap's own limit for Ethernet */

/* The path that stands for standard input and output. */
#define CAPTURE_STANDARD "-"

/*
 * Opens a capture for reading; timestamps have nanoseconds. Prints an error and returns NULL if the
 * file cannot be read or is not an Ethernet capture. The caller calls pcap_close().
 */
pcap_t *capture_open(const char *path);

/*
 * Reads the next frame, at most CAPTURE_MAX_FRAME bytes. *header and *frame are valid until the next
 * call. Returns false at the end of the capture, and after an error, which it prints with `path`. Sets
 * *failed after an error, and leaves it alone otherwise.
 */
bool capture_next(pcap_t *in, const char *path, struct pcap_pkthdr **header, const uint8_t **frame, bool *failed);

/*
 * Creates a capture with nanoseconds. If it goes to standard output (also as /dev/stdout), all that is printed from now
 * on goes to standard error. Prints an error and returns NULL if that fails. The caller calls capture_finish().
 */
pcap_dumper_t *capture_create(const char *path);

/* Closes the capture. Prints an error and returns false if not all of it could be written. */
bool capture_finish(pcap_dumper_t *out, const char *path);
