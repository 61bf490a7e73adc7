/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between glb-director and `glb-director-cli capture`, over a UNIX socket of type SOCK_SEQPACKET. Each
 * message is one datagram in the host's byte order. The client sends one struct capture_request. The director replies
 * with CAPTURE_REFUSED or CAPTURE_STARTED, sends CAPTURE_TABLES and CAPTURE_PACKETS, and at the end CAPTURE_ENDED. The
 * client asks for the end with shutdown(2) of its sending side.
 */
#pragma once

#include <stdint.h>

#include "common/netaddr.h"
#include "gue/encapsulate.h"
#include "packet/verdict.h"

/* The socket's name, in the folder of DPDK's telemetry socket. */
#define CAPTURE_SOCKET "glb_capture"

/* Changes with every change of this file. Both programs have verdicts as numbers, so it changes with their
 * list, too. */
#define CAPTURE_PROTOCOL (4u << 16 | VERDICT_COUNT)

/* The packet comes from the exception path, and has no verdict. As OUTCOME_RETURNED of worker/transmit.h. */
#define CAPTURE_RETURNED VERDICT_COUNT

/* In capture_request.verdicts. */
#define CAPTURE_ALL_VERDICTS ((2u << CAPTURE_RETURNED) - 1)

enum {
	CAPTURE_MAX_PROGRAM = 512, /* instructions of a filter */
	CAPTURE_MAX_SNAPLEN = 16384, /* bytes; the director receives no frame of this size */
	CAPTURE_MAX_SECONDS = 3600,
	CAPTURE_MAX_COUNT = 1000000000,
	CAPTURE_MAX_PORTS = 32,
	CAPTURE_TEXT = 256, /* of a name or a message, with its terminating zero */
	CAPTURE_FILTER_TEXT = 512,
	CAPTURE_MESSAGE_MAX = 65536, /* bytes */
};

/* An instruction of classic BPF, as struct bpf_insn of libpcap. */
struct capture_instruction {
	uint16_t code;
	uint8_t jump_true, jump_false;
	uint32_t k;
};

struct capture_request {
	uint32_t protocol; /* CAPTURE_PROTOCOL */
	/* Bit n: packets with enum verdict n; bit CAPTURE_RETURNED: packets from the exception path */
	uint32_t verdicts;
	uint32_t snaplen, seconds, count;
	uint32_t program_size; /* instructions; 0: every packet */
	char table[CAPTURE_TEXT]; /* name or "#INDEX"; "": every packet */
	char filter[CAPTURE_FILTER_TEXT]; /* the text that the program was compiled from, for people; it may be cut */
	struct capture_instruction program[CAPTURE_MAX_PROGRAM]; /* only program_size of them are sent */
};

enum capture_type {
	CAPTURE_REFUSED, /* struct capture_end, without counters */
	CAPTURE_STARTED, /* struct capture_start */
	CAPTURE_TABLES, /* struct capture_tables, then for each of its tables the label with a terminating zero */
	CAPTURE_PACKETS, /* struct capture_packets, then records */
	CAPTURE_ENDED, /* struct capture_end */
};

struct capture_counters {
	uint64_t matched; /* packets that the filters chose */
	uint64_t lost; /* of these, packets for which there was no room */
	/* Packets that were not examined, because the capture had used its share of the lcore's time */
	uint64_t skipped;
};

struct capture_port {
	char name[64];
	uint16_t id;
	uint8_t mac[6];
};

struct capture_start {
	uint32_t type;
	uint32_t port_count;
	char version[64]; /* of the director */
	struct capture_port ports[CAPTURE_MAX_PORTS];
};

/* Labels of tables of one generation. All of them come before the first record of that generation, in as many messages
 * as needed. */
struct capture_tables {
	uint32_t type;
	uint32_t count; /* of labels; those of the next tables follow in the next message */
	uint64_t generation;
};

struct capture_packets {
	uint32_t type;
	uint32_t count; /* of records */
	struct capture_counters counters; /* since the start */
};

enum capture_reason {
	CAPTURE_ASKED, /* the client asked for the end */
	CAPTURE_COUNT_REACHED,
	CAPTURE_TIME_REACHED,
	CAPTURE_STOPPING, /* the director stops */
	CAPTURE_CLIENT_GONE, /* the client has closed the socket, or does not read */
};

struct capture_end {
	uint32_t type;
	uint32_t reason; /* enum capture_reason */
	struct capture_counters counters;
	char text[1024]; /* of CAPTURE_REFUSED: why */
};

#define CAPTURE_NO_PORT UINT16_MAX

/* A packet: what arrived and what was sent. */
struct capture_record {
	uint32_t size; /* bytes of the record with its data, a multiple of 8 */
	uint8_t verdict; /* enum verdict, or CAPTURE_RETURNED */
	uint8_t has_table; /* table, row, hops and hop_count are valid */
	uint16_t table; /* index, of the generation's tables */
	uint64_t time; /* in the ring: of rte_rdtsc(). In a message: Unix time in nanoseconds */
	uint64_t number; /* identifies the packet in this capture */
	uint64_t generation; /* of the forwarding table by which the packet was steered */
	struct capture_counters counters; /* of the lcore, with this packet */
	uint16_t row, lcore, hop_count;
	uint16_t quic; /* enum quic_fate */
	uint16_t in_port, out_port; /* DPDK port ids, or CAPTURE_NO_PORT */
	uint32_t in_size, in_captured; /* bytes of the frame that arrived, and how many of them are in data[] */
	uint32_t out_size, out_captured; /* of the frame that was sent; behind the other one in data[] */
	struct netaddr hops[ENCAPSULATE_MAX_HOPS];
	uint8_t data[];
};
