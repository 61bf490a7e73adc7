/* SPDX-License-Identifier: BSD-3-Clause */
/* Names a flow for output: what kind of packet it is, and its endpoints. Pure. */
#pragma once

#include "common/endpoint.h"
#include "packet/flow.h"

struct flow_text {
	const char *what; /* kind of packet, such as "tcp" or "icmp error about udp" */
	char source[ENDPOINT_TEXT_MAX], destination[ENDPOINT_TEXT_MAX];
};

void flow_text_format(const struct flow *flow, struct flow_text *text);

#define FLOW_TEXT_FRAME_MAX 128

/* Describes a frame that has no flow, by the headers that are there. */
void flow_text_frame(const uint8_t *frame, uint32_t readable, char text[FLOW_TEXT_FRAME_MAX]);
