/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gue and fou checks send an ICMP echo request through a tunnel to the proxy. The proxy's kernel sends its reply
 * straight to this host, outside the tunnel. All probes share one UDP socket and one raw ICMP socket per address
 * family. A reply belongs to a probe only if its identifier, sequence number, payload and source address match.
 */
#pragma once

#include <ev.h>
#include <stdint.h>

#include "common/faults.h"
#include "healthcheck/checks/probe.h"
#include "healthcheck/config/conf.h"
#include "program/facts.h"

struct tunnel_counters {
	uint64_t replies;
	/* Replies with the identifier of this daemon that match no running probe: late, altered, or from another
	 * address. */
	uint64_t foreign;
};

extern const struct fact check_tunnel_facts[];

/* `probes` is the maximum number of tunnel probes that run at once. Returns NULL and adds an error on failure. */
struct tunnel *check_tunnel_open(struct ev_loop *loop, const struct conf *conf, unsigned probes, struct faults *faults);

/* No tunnel probe may be running. */
void check_tunnel_close(struct tunnel *tunnel);

const struct tunnel_counters *check_tunnel_counters(const struct tunnel *tunnel);
