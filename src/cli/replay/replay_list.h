/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the packets of a capture for `replay`: flow, verdict, and why. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

#include "cli/explain.h"
#include "cli/flow_text.h"
#include "packet/pipeline.h"

/* What is kept of a packet, because the pipeline overwrites its frame. */
struct replay_list_packet {
	struct timeval time; /* tv_usec has nanoseconds */
	uint32_t captured; /* bytes of the frame in the capture */
	bool admitted; /* by its Ethernet header, see packet/admission.h */
	bool has_flow;
	struct flow flow;
	char text[FLOW_TEXT_FRAME_MAX]; /* of a packet that has no flow */
};

struct replay_list {
	/* Filled by the caller. */
	bool drops_only; /* leave out the packets that are forwarded */
	bool json;
	struct explainer explainer;
	const struct pipeline *pipeline;

	/* Private. */
	uint64_t number; /* of packets so far */
	bool any; /* something was printed */
	struct timeval start; /* of the first packet */
	struct replay_list_packet packets[BURST_MAX];
};

/* Notes a packet, before the pipeline runs. */
void replay_list_note(struct replay_list *list, const struct burst *burst, uint32_t lane, struct timeval time);

/* Prints the packets of the burst on stdout, after the pipeline has run. As JSON, they are members of an array. */
void replay_list_print(struct replay_list *list, const struct burst *burst);
