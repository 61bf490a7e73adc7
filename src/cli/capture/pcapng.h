/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a capture in the pcapng format. libpcap cannot write it, and DPDK's librte_pcapng has no comments for packets
 * before 23.11. The blocks collect in memory until pcapng_flush() writes them. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros, but with a file descriptor, is a writer that has written nothing. */
struct pcapng {
	int fd;
	uint8_t *bytes; /* the blocks that are not written yet */
	size_t size, room, block; /* block: where the current one begins in `bytes` */
	int error; /* errno of the first failure; 0: there was none */
};

void pcapng_close(struct pcapng *pcapng); /* does not write, and does not close fd */

/* The header of the file, and of each interface. Interfaces are numbered from 0 in the order of the calls. */
void pcapng_put_header(struct pcapng *pcapng, const char *program, const char *comment);
void pcapng_put_interface(struct pcapng *pcapng, const char *name, const char *description, const uint8_t mac[6],
	uint32_t snaplen, const char *filter);

enum pcapng_direction { PCAPNG_IN = 1, PCAPNG_OUT = 2 };

struct pcapng_packet {
	uint32_t interface;
	enum pcapng_direction direction;
	uint64_t time; /* Unix time in nanoseconds */
	uint64_t number; /* the same for a frame that arrived, and the frame that was sent for it */
	const uint8_t *frame;
	uint32_t size, captured; /* bytes of the whole frame, and of `frame` */
	const char *comment;
};

void pcapng_put_packet(struct pcapng *pcapng, const struct pcapng_packet *packet);

/* accepted: packets that the filter chose. lost: of these, packets that are not in the file. */
void pcapng_put_statistics(struct pcapng *pcapng, uint32_t interface, uint64_t time, uint64_t accepted, uint64_t lost,
	const char *comment);

/*
 * Writes all blocks. Returns 0 or an errno. If a regular file has no room for all of them, it ends with the last whole
 * block that fits, so that it stays readable.
 */
int pcapng_flush(struct pcapng *pcapng);
