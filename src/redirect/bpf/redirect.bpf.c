/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The second chance on the proxies (docs/reference/redirect.md#the-decision). If a GUE packet belongs to this host, the
 * program removes the outer headers and passes the inner packet to the kernel. If not, the program sends the packet to
 * the next hop in its GUE header. All other packets pass unchanged.
 *
 * Runs on Linux 5.10 and newer. It uses no newer helper, map type or instruction. It reads two kernel structures, if
 * the loader finds out where their members are.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "bpf/cursor.bpf.h"
#include "redirect/bpf/allow.bpf.h"
#include "redirect/bpf/checksum.bpf.h"
#include "redirect/bpf/decide.bpf.h"
#include "redirect/bpf/frags.bpf.h"
#include "redirect/bpf/outer.bpf.h"
#include "redirect/redirect.h"
#include "redirect/bpf/rewrite.bpf.h"
#include "redirect/bpf/syn_cookie.bpf.h"

/* Each CPU writes its own value of a counter. Readers add them up. Nothing resets them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REDIRECT_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* Accepted packets by the hop at which this host accepted them, like `counters`. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REDIRECT_HOPS);
	__type(key, __u32);
	__type(value, __u64);
} hops SEC(".maps");

/* An XDP program of another tool, which gets every packet that this one passes. Usually empty. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

static __always_inline int pass(struct xdp_md *context)
{
	bpf_tail_call(context, &next, 0);
	return XDP_PASS;
}

static __always_inline void count(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		++*value;
}

static __always_inline void count_hop(__u32 passed)
{
	__u32 hop = passed < REDIRECT_HOPS ? passed : REDIRECT_HOPS - 1;
	__u64 *value = bpf_map_lookup_elem(&hops, &hop);

	if (value)
		++*value;
}

/* Returns the counter for a packet that belongs to no socket of this host. */
static __always_inline int next_hop_outcome(const struct outer *outer)
{
	if (!outer->has_next_hop)
		return REDIRECT_ACCEPTED_LAST_RESORT;
	if (outer->next_is_self)
		return REDIRECT_FORWARDED_TO_SELF;
	return outer->ttl > 1 ? REDIRECT_FORWARDED_TO_ALTERNATE : REDIRECT_DROP_TTL;
}

/*
 * Returns the counter for UDP that no hop has a connected socket for, at the last hop, which has an unconnected one.
 * The first hop should have it: the server there accepted the client's earlier packets. With two hops the first one is
 * the sender. With more hops it is not known.
 */
static __always_inline int unconnected_outcome(struct outer *outer)
{
	struct gue_private *private_data = outer->private_data;

	if (private_data->hop_count != 1)
		return REDIRECT_UDP_UNCONNECTED_LISTENER;
	if (!outer->next_is_self) {
		outer->passed = 0; /* this is the first hop, to which the last one returned the packet */
		return REDIRECT_UDP_UNCONNECTED_LISTENER;
	}
	outer->returns = true;
	return outer->ttl > 1 ? REDIRECT_RETURNED_TO_FIRST_HOP : REDIRECT_DROP_TTL;
}

/* Returns the counter for a packet whose outer and GUE headers are valid; `inner` is at the inner packet. */
static __always_inline int outcome_of(struct xdp_md *context, struct outer *outer, const struct cursor *inner)
{
	bool ipv6 = outer->gue->inner_protocol == GUE_INNER_IPV6;
	int outcome = decide_inner(context, inner->at, inner->end, ipv6, quic.is_used);

	if (outcome == DECIDE_BY_CID) {
		outcome = quic_decide(context, outer_ip_at(outer), outer->gue_at, outer->ipv6);
		outer->names_later_hop = outcome == REDIRECT_QUIC_PASSED_ON;
		if (outer->names_later_hop)
			return next_hop_outcome(outer);
		if (outcome == QUIC_UNDECIDED)
			outcome = decide_inner(context, inner->at, inner->end, ipv6, false);
	}
	if (outcome == DECIDE_UNCONNECTED && !outer->has_next_hop)
		return unconnected_outcome(outer);
	return outcome < 0 ? next_hop_outcome(outer) : outcome;
}

static __always_inline bool is_kept(int outcome)
{
	if (outcome == REDIRECT_UDP_UNCONNECTED_LISTENER || outcome == REDIRECT_NOT_FOR_US ||
		outcome == REDIRECT_QUIC_KEPT)
		return true;
	return outcome != REDIRECT_FORWARDED_TO_ALTERNATE && outcome < REDIRECT_DROP_TRUNCATED;
}

static __always_inline bool is_sent(int outcome)
{
	return outcome == REDIRECT_FORWARDED_TO_ALTERNATE || outcome == REDIRECT_FORWARDED_BY_ROUTE ||
	       outcome == REDIRECT_SYN_COOKIE_SENT || outcome == REDIRECT_RETURNED_TO_FIRST_HOP ||
	       outcome == REDIRECT_QUIC_PASSED_ON;
}

static __always_inline int pass_on(struct xdp_md *context, const struct outer *outer)
{
	int outcome = forward_outer(context, outer->tags, outer->gue_at, outer->returns, outer->ipv6);

	if (!is_sent(outcome))
		return outcome;
	if (outer->names_later_hop)
		return REDIRECT_QUIC_PASSED_ON;
	return outer->returns ? REDIRECT_RETURNED_TO_FIRST_HOP : outcome;
}

/* Returns the offset of the outer destination in the frame, or 0 if it is not of the inner packet's family. */
static __always_inline __u32 destination_at(const struct outer *outer, bool ipv6)
{
	if (outer->ipv6 != ipv6)
		return 0;
	return outer_ip_at(outer) + (ipv6 ? offsetof(struct ipv6hdr, daddr) : offsetof(struct iphdr, daddr));
}

/*
 * Removes the outer headers of a packet that this host accepts, or turns a SYN into a SYN-ACK with a
 * cookie. Returns the final counter: `outcome`, REDIRECT_SYN_COOKIE_SENT, or the reason for a drop.
 */
static __always_inline int keep(struct xdp_md *context, const struct outer *outer, const struct cursor *inner, int outcome)
{
	bool ipv6 = outer->gue->inner_protocol == GUE_INNER_IPV6;
	bool answers_syn = settings.syn_cookies && outcome == REDIRECT_ACCEPTED_SYN;
	void *packet = cursor_peek(inner, sizeof(struct iphdr));
	int checksum = CHECKSUM_UNKNOWN;

	if (!packet) /* impossible, because outcome_of() read more of it; the verifier needs it */
		return REDIRECT_DROP_INNER_TRUNCATED;
	if (!allow_destination(inner, ipv6, destination_at(outer, ipv6)))
		return REDIRECT_DROP_DESTINATION;
	if (!propagate_ecn(outer->tos, packet, ipv6))
		return REDIRECT_DROP_ECN;
	/* With REDIRECT_CHECKSUMS_KERNEL, only a SYN that the program answers itself is verified here. */
	if (settings.checksums == REDIRECT_CHECKSUMS_PROGRAM || answers_syn)
		checksum = checksum_of_inner(context, inner->at, inner->end, ipv6);
	if (answers_syn && checksum == CHECKSUM_RIGHT) {
		if (ipv6)
			outcome = reply_to_ipv6_syn(context, inner->at, inner->end, outer->tags);
		else
			outcome = reply_to_ipv4_syn(context, inner->at, inner->end, outer->tags);
		if (outcome != REDIRECT_ACCEPTED_SYN)
			return outcome;
	}
	if (!strip(context, outer->tags, inner->at - outer_ip_at(outer), ipv6))
		return REDIRECT_DROP_NOT_STRIPPED;
	return settings.checksums ? checksum_hand_over(context, checksum, outcome) : outcome;
}

/* Returns whether the program found the frame too short, as it does if headers are not in the first buffer. */
static __always_inline bool ends_early(int outcome)
{
	return outcome == OUTER_NOT_GUE || outcome == REDIRECT_DROP_TRUNCATED || outcome == REDIRECT_DROP_INNER_TRUNCATED;
}

SEC("xdp")
int glb_redirect(struct xdp_md *context)
{
	struct cursor cursor = frame_cursor(context);
	struct outer outer = {0};
	int outcome = outer_parse(&cursor, &outer, settings.port);

	if (outcome == OUTER_GUE) {
		outcome = outcome_of(context, &outer, &cursor);
		if (is_kept(outcome))
			outcome = keep(context, &outer, &cursor, outcome);
		else if (outcome == REDIRECT_FORWARDED_TO_ALTERNATE || outcome == REDIRECT_RETURNED_TO_FIRST_HOP)
			outcome = pass_on(context, &outer);
	}
	if (ends_early(outcome) && is_split_gue(context))
		outcome = REDIRECT_DROP_SPLIT_HEADERS;
	if (outcome == OUTER_NOT_GUE)
		return pass(context);
	count(REDIRECT_TOTAL);
	count(outcome);
	/* XDP_TX would lose packets on a veth pair, whatever is at the other end. */
	if (is_sent(outcome))
		return bpf_redirect(context->ingress_ifindex, 0);
	if (!is_kept(outcome))
		return XDP_DROP;
	if (outcome != REDIRECT_NOT_FOR_US)
		count_hop(outer.passed);
	return pass(context);
}

/* Runs on tc ingress, after glb_redirect() and after GRO. Leaves the packet to the other tc programs of the
 * interface. */
SEC("tc")
int glb_checksum(struct __sk_buff *packet)
{
	checksum_reset(packet);
	return TC_ACT_UNSPEC;
}

/* The kernel offers bpf_tcp_check_syncookie only to programs under the GPL. */
char _license[] SEC("license") = "Dual BSD/GPL";
