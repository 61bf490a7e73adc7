/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gue and fou checks: an echo request in a tunnel to the proxy, whose kernel answers it
 * straight to this host. One UDP socket and one raw ICMP socket of each family serve all probes; a
 * reply belongs to a probe only if identifier, sequence, payload and source address are those of
 * it.
 */
#ifndef GLB_HEALTHCHECK_CHECKS_CHECK_TUNNEL_H
#define GLB_HEALTHCHECK_CHECKS_CHECK_TUNNEL_H

#include <ev.h>
#include <stdint.h>

#include "common/faults.h"
#include "healthcheck/checks/probe.h"
#include "healthcheck/config/conf.h"

struct tunnel_counters {
	uint64_t replies;
	uint64_t foreign; /* replies of nobody's request, or of one that has ended, or from
			     elsewhere */
};

/* NULL: an error says what is missing. `probes`: how many may run at once. */
struct tunnel *tunnel_open(struct ev_loop *loop, const struct conf *conf, unsigned probes, struct faults *faults);
void tunnel_close(struct tunnel *tunnel);

const struct tunnel_counters *tunnel_counters(const struct tunnel *tunnel);

extern const struct probe_method check_gue, check_fou;

#endif
