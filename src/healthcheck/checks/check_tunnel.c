/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check_tunnel.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/net.h"
#include "common/siphash.h"
#include "health/echo.h"
#include "healthcheck/checks/error_result.h"
#include "healthcheck/checks/probe.h"
#include "program/sockaddr.h"

/* ICMP errors about earlier requests may come faster than requests are sent. */
#define SEND_ATTEMPTS 16

/* An old glb-redirect leaves outer IPv6 to the kernel. The kernel sends an ICMP error only if the UDP datagram has a
 * checksum. */
#define NO_REDIRECT ": glb-redirect there is not attached, or too old for IPv6 proxies"
#define NO_CHECKSUM ", or the network drops UDP without checksum"

/* The sockets of one address family. */
struct family_sockets {
	enum netaddr_family family;
	struct tunnel *tunnel;
	/* -1: this host does not support the family. */
	int udp, icmp;
	/* Never sends. connect() on it makes the kernel choose a source address. */
	int route;
	ev_io udp_io, icmp_io;
};

/* A running probe. The slot's index is the sequence number of the echo request, so that a reply leads to the slot. */
struct slot {
	/* NULL: the slot is free. */
	struct probe *probe;
	struct echo echo;
	/* While free: index of the next free slot; slot_count at the end of the list. */
	unsigned next_free;
};

struct tunnel {
	struct ev_loop *loop;
	const struct conf *conf;
	struct family_sockets sockets[2];
	/* The nonce of a request is the counter `sent` and its hash with `key`. */
	uint8_t key[SIPHASH_KEY_SIZE];
	uint64_t sent;
	uint16_t identifier;
	struct tunnel_counters counters;
	unsigned slot_count, first_free;
	struct slot slots[];
};

static struct family_sockets *sockets_of(struct tunnel *tunnel, uint8_t family)
{
	return &tunnel->sockets[family == NETADDR_V6];
}

/* Returns the running probe that sent this echo request, or the request that this echo replies to; else NULL. */
static struct probe *find(struct tunnel *tunnel, const struct echo *echo)
{
	const struct slot *slot;

	if (echo->identifier != tunnel->identifier || echo->sequence >= tunnel->slot_count)
		return NULL;
	slot = &tunnel->slots[echo->sequence];
	if (!slot->probe || memcmp(slot->echo.nonce, echo->nonce, ECHO_NONCE_SIZE) != 0)
		return NULL;
	return slot->probe;
}

static void take_reply(struct family_sockets *sockets, const uint8_t *bytes, size_t size, const union sockaddr_any *from)
{
	struct tunnel *tunnel = sockets->tunnel;
	struct netaddr source = sockaddr_netaddr(from);
	struct probe *probe = NULL;
	struct echo echo;
	bool reply = sockets->family == NETADDR_V4 ? echo_read_reply_ipv4(bytes, size, &echo)
						   : echo_read_reply(bytes, size, NETADDR_V6, &echo);

	if (reply)
		probe = find(tunnel, &echo);
	if (!probe || netaddr_compare(&source, &probe->spec->inner) != 0) {
		tunnel->counters.foreign++;
		return;
	}
	tunnel->counters.replies++;
	probe_end(probe, CHECK_PASSED, "echo reply");
}

static void on_icmp(struct ev_loop *, ev_io *io, int)
{
	struct family_sockets *sockets = io->data;
	union sockaddr_any from;
	socklen_t from_size;
	/* Replies to our requests are shorter. */
	uint8_t bytes[256];
	ssize_t size;

	/* Limited, so that a flood of replies does not starve the rest of the event loop. */
	for (unsigned i = 0; i < sockets->tunnel->slot_count; i++) {
		from_size = sizeof(from);
		size = recvfrom(io->fd, bytes, sizeof(bytes), MSG_DONTWAIT, &from.sa, &from_size);
		if (size < 0)
			return;
		take_reply(sockets, bytes, (size_t)size, &from);
	}
}

static bool is_gue_ipv6(const struct check_spec *spec)
{
	return spec->kind == CHECK_GUE && spec->addr.family == NETADDR_V6;
}

/* Ends the probe that an ICMP error is about. `bytes` is the payload of the datagram that the error quotes. */
static void take_error(struct family_sockets *sockets, const uint8_t *bytes, size_t size, int error)
{
	struct tunnel *tunnel = sockets->tunnel;
	struct probe *probe = NULL;
	struct echo echo;

	/* The headers of GUE and GRE have 8 bytes. */
	if (echo_read_request(bytes, size, &echo) || (size > 8 && echo_read_request(bytes + 8, size - 8, &echo)))
		probe = find(tunnel, &echo);
	if (probe && error == ECONNREFUSED && is_gue_ipv6(probe->spec))
		probe_end(probe, CHECK_REFUSED, "Connection refused" NO_REDIRECT);
	else if (probe)
		probe_end_errno(probe, error);
}

static bool read_error(struct family_sockets *sockets)
{
	uint8_t bytes[256], control[512];
	struct iovec iov = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(sockets->udp, &message, MSG_ERRQUEUE | MSG_DONTWAIT);

	if (size < 0)
		return false;
	for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
		struct sock_extended_err error;

		if (!(item->cmsg_level == SOL_IP && item->cmsg_type == IP_RECVERR) &&
			!(item->cmsg_level == SOL_IPV6 && item->cmsg_type == IPV6_RECVERR))
			continue;
		memcpy(&error, CMSG_DATA(item), sizeof(error));
		/* The kernel handles "too big" itself: it lowers the path MTU. */
		if (error.ee_errno != EMSGSIZE)
			take_error(sockets, bytes, (size_t)size, (int)error.ee_errno);
	}
	return true;
}

static void on_udp(struct ev_loop *, ev_io *io, int)
{
	struct family_sockets *sockets = io->data;
	uint8_t ignored[64];

	for (int i = 0; i < 64 && read_error(sockets); i++)
		;
	recv(io->fd, ignored, sizeof(ignored), MSG_DONTWAIT);
}

/*
 * Connects the socket that never sends, which makes the kernel look up the route. Returns 0; or -errno of the route,
 * which is no ICMP error about an earlier request. The socket keeps the source address of its first connect() until it
 * is disconnected.
 */
static int connect_route(struct family_sockets *sockets, const struct netaddr *addr)
{
	const struct sockaddr disconnect = {.sa_family = AF_UNSPEC};
	union sockaddr_any to;

	if (connect(sockets->route, &disconnect, sizeof(disconnect)) < 0 ||
		connect(sockets->route, &to.sa, sockaddr_fill(&to, addr, 9)) < 0)
		return -errno;
	return 0;
}

/*
 * Finds the source address for packets to `addr`: the configured one, or the kernel's choice. Returns 0 or -errno:
 * -EADDRNOTAVAIL if this host has no address of the family, although it has a route.
 */
static int source_for(struct family_sockets *sockets, const struct netaddr *addr, struct netaddr *source)
{
	const struct netaddr *given = conf_source(sockets->tunnel->conf, sockets->family);
	union sockaddr_any own;
	socklen_t size = sizeof(own);
	int error;

	if (given) {
		*source = *given;
		return 0;
	}
	if (sockets->route < 0)
		return -EAFNOSUPPORT;
	error = connect_route(sockets, addr);
	if (error)
		return error;
	if (getsockname(sockets->route, &own.sa, &size) < 0)
		return -errno;
	*source = sockaddr_netaddr(&own);
	return netaddr_is_unspecified(source) ? -EADDRNOTAVAIL : 0;
}

/* Writes the payload of the UDP datagram. Returns its size in bytes. */
static size_t write_request(const struct tunnel *tunnel, const struct check_spec *spec, const struct netaddr *source,
	const struct echo *echo, uint8_t to[ECHO_TUNNEL_MAX_SIZE])
{
	if (spec->kind == CHECK_GUE)
		return echo_write_gue(to, (enum netaddr_family)spec->addr.family, source, &spec->inner, echo);
	return (tunnel->conf->fou_gre ? echo_write_gre : echo_write)(to, source, &spec->inner, echo);
}

/*
 * Sends one datagram. Returns 0 or -errno. An ICMP error about an earlier request, even to another proxy, makes
 * sendto() fail with an error that says nothing about this proxy.
 */
static int send_datagram(struct family_sockets *outer, const uint8_t *packet, size_t size, const struct check_spec *spec)
{
	union sockaddr_any to;
	socklen_t to_size = sockaddr_fill(&to, &spec->addr, spec->port);
	int error = 0;

	for (int attempt = 0; attempt < SEND_ATTEMPTS; attempt++) {
		if (sendto(outer->udp, packet, size, MSG_DONTWAIT, &to.sa, to_size) >= 0)
			return 0;
		error = errno;
		if (error_result_errno(error) == CHECK_NOT_RUN)
			return -error;
		error = connect_route(outer, &spec->addr);
		if (error)
			return error;
	}
	return -EAGAIN;
}

/* Returns 0 or -errno. The proxy sends its reply to the source address of the inner packet. */
static int send_request(struct tunnel *tunnel, const struct check_spec *spec, const struct echo *echo)
{
	struct family_sockets *outer = sockets_of(tunnel, spec->addr.family);
	struct family_sockets *inner = sockets_of(tunnel, spec->inner.family);
	uint8_t packet[ECHO_TUNNEL_MAX_SIZE];
	struct netaddr source;
	int error = source_for(inner, outer == inner ? &spec->addr : &spec->inner, &source);

	if (error)
		return error;
	if (outer->udp < 0 || inner->icmp < 0)
		return -EAFNOSUPPORT;
	return send_datagram(outer, packet, write_request(tunnel, spec, &source, echo, packet), spec);
}

static void start(struct probe *probe)
{
	struct tunnel *tunnel = probe->env->tunnel;
	struct slot *slot = &tunnel->slots[tunnel->first_free];
	uint64_t nonce[2] = {++tunnel->sent};
	int error;

	_Static_assert(sizeof(nonce) == ECHO_NONCE_SIZE, "a nonce is a counter and its hash");
	if (tunnel->first_free == tunnel->slot_count) {
		probe_end(probe, CHECK_NOT_RUN, "more tunnel checks at once than max_concurrent allows");
		return;
	}
	nonce[1] = siphash(tunnel->key, nonce, sizeof(nonce[0]));
	slot->echo.identifier = tunnel->identifier;
	slot->echo.sequence = (uint16_t)tunnel->first_free;
	memcpy(slot->echo.nonce, nonce, sizeof(nonce));
	slot->probe = probe;
	tunnel->first_free = slot->next_free;
	probe->state = slot;
	if (is_gue_ipv6(probe->spec))
		probe->timeout_hint = tunnel->conf->outbound_udp_checksum ? NO_REDIRECT : NO_REDIRECT NO_CHECKSUM;
	error = send_request(tunnel, probe->spec, &slot->echo);
	if (error == -EADDRNOTAVAIL)
		probe_end(probe, CHECK_NOT_RUN, "this host has no %s address to which the proxy could reply",
			probe->spec->inner.family == NETADDR_V6 ? "IPv6" : "IPv4");
	else if (error)
		probe_end_errno(probe, -error);
}

static void stop(struct probe *probe)
{
	struct tunnel *tunnel = probe->env->tunnel;
	struct slot *slot = probe->state;

	if (!slot)
		return;
	slot->probe = NULL;
	slot->next_free = tunnel->first_free;
	tunnel->first_free = (unsigned)(slot - tunnel->slots);
	probe->state = NULL;
}

/*
 * Lets only replies to requests of this daemon through, by type and identifier. The kernel drops the others, so that
 * a flood of replies neither fills the socket's buffer nor takes time. The socket's data begins with the IPv4 header,
 * or with the ICMPv6 header. Returns 0 or -1 with errno.
 */
static int filter_replies(const struct family_sockets *sockets)
{
	bool v4 = sockets->family == NETADDR_V4;
	struct sock_filter code[] = {
		v4 ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
		   : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v4 ? NET_ICMP_ECHO_REPLY : NET_ICMPV6_ECHO_REPLY, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sockets->tunnel->identifier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(sockets->icmp, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Gives datagrams to IPv6 proxies a UDP checksum if the director's have one; those to IPv4 proxies always have it. A
 * network that drops what the director sends must drop the checks, too. Returns 0 or -1 with errno. */
static int set_checksum(const struct family_sockets *sockets)
{
	int none = !sockets->tunnel->conf->outbound_udp_checksum;

	if (sockets->family == NETADDR_V4)
		return 0;
	return setsockopt(sockets->udp, IPPROTO_UDP, UDP_NO_CHECK6_TX, &none, sizeof(none));
}

static int open_sockets(struct tunnel *tunnel, enum netaddr_family family, struct faults *faults)
{
	struct family_sockets *sockets = sockets_of(tunnel, family);
	const struct netaddr *source = conf_source(tunnel->conf, family);
	bool v4 = family == NETADDR_V4;
	int domain = v4 ? AF_INET : AF_INET6, flags = SOCK_NONBLOCK | SOCK_CLOEXEC, on = 1;
	union sockaddr_any from;

	sockets->icmp = socket(domain, SOCK_RAW | flags, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	if (sockets->icmp < 0 && errno == EAFNOSUPPORT)
		return 0;
	if (sockets->icmp < 0 && (errno == EPERM || errno == EACCES)) {
		faults_error(faults, NULL,
			"gue and fou checks need the capability CAP_NET_RAW, which is missing: start glb-healthcheck.service, which grants it, or run once as root: setcap cap_net_raw+ep PATH-OF-glb-healthcheck");
		return -EPERM;
	}
	sockets->udp = socket(domain, SOCK_DGRAM | flags, 0);
	sockets->route = socket(domain, SOCK_DGRAM | flags, 0);
	if (sockets->icmp < 0 || sockets->udp < 0 || sockets->route < 0 ||
		(source && bind(sockets->udp, &from.sa, sockaddr_fill(&from, source, 0)) < 0) ||
		setsockopt(sockets->udp, v4 ? SOL_IP : SOL_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR, &on, sizeof(on)) < 0 ||
		set_checksum(sockets) < 0 || filter_replies(sockets) < 0) {
		faults_error(faults, NULL, "cannot open sockets for gue and fou checks%s: %s",
			source ? " with the source address from the configuration" : "", strerror(errno));
		return -EINVAL;
	}
	ev_io_init(&sockets->icmp_io, on_icmp, sockets->icmp, EV_READ);
	ev_io_init(&sockets->udp_io, on_udp, sockets->udp, EV_READ);
	sockets->icmp_io.data = sockets->udp_io.data = sockets;
	ev_io_start(tunnel->loop, &sockets->icmp_io);
	ev_io_start(tunnel->loop, &sockets->udp_io);
	return 0;
}

struct tunnel *check_tunnel_open(struct ev_loop *loop, const struct conf *conf, unsigned probes, struct faults *faults)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel) + probes * sizeof(struct slot));

	if (!tunnel) {
		faults_error(faults, NULL, "out of memory");
		return NULL;
	}
	tunnel->loop = loop;
	tunnel->conf = conf;
	tunnel->slot_count = probes;
	for (unsigned i = 0; i < probes; i++)
		tunnel->slots[i].next_free = i + 1;
	for (int i = 0; i < 2; i++)
		tunnel->sockets[i] = (struct family_sockets){
			.family = i ? NETADDR_V6 : NETADDR_V4, .tunnel = tunnel, .udp = -1, .icmp = -1, .route = -1};
	if (getrandom(tunnel->key, sizeof(tunnel->key), 0) != sizeof(tunnel->key) ||
		getrandom(&tunnel->identifier, sizeof(tunnel->identifier), 0) < 0)
		faults_error(faults, NULL, "getrandom failed: %s", strerror(errno));
	else if (!open_sockets(tunnel, NETADDR_V4, faults) && !open_sockets(tunnel, NETADDR_V6, faults))
		return tunnel;
	check_tunnel_close(tunnel);
	return NULL;
}

void check_tunnel_close(struct tunnel *tunnel)
{
	if (!tunnel)
		return;
	for (int i = 0; i < 2; i++) {
		struct family_sockets *sockets = &tunnel->sockets[i];

		ev_io_stop(tunnel->loop, &sockets->icmp_io);
		ev_io_stop(tunnel->loop, &sockets->udp_io);
		if (sockets->icmp >= 0)
			close(sockets->icmp);
		if (sockets->udp >= 0)
			close(sockets->udp);
		if (sockets->route >= 0)
			close(sockets->route);
	}
	free(tunnel);
}

const struct fact check_tunnel_facts[] = {
	{"tunnel_replies", NULL, OPENMETRICS_COUNTER, FACTS_AT(struct tunnel_counters, replies),
		"echo replies that belonged to a probe"},
	{"tunnel_foreign", NULL, OPENMETRICS_COUNTER, FACTS_AT(struct tunnel_counters, foreign),
		"echo replies with the identifier of this daemon that were ignored: late, altered, or from another address"},
	{0},
};

const struct tunnel_counters *check_tunnel_counters(const struct tunnel *tunnel)
{
	return &tunnel->counters;
}

const struct probe_method check_tunnel = {.start = start, .stop = stop};
