/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net.h"
#include "program/sockaddr.h"

/* Packets that are read in a step, so that a flood of replies takes little time. */
#define READ_MAX 256

/*
 * Opens a socket that is bound to the configured source and connected to the address. *source: the address that the
 * request has. Returns the descriptor or -errno: -EADDRNOTAVAIL if this host does not have the source, or no address of
 * the family, although it has a route.
 */
static int open_socket(const struct announce_probe *conf, struct netaddr *source)
{
	bool v4 = conf->address.family == NETADDR_V4;
	int protocol = v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, error;
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	union sockaddr_any from, to;
	socklen_t size = sizeof(from);

	if (fd < 0)
		return -errno;
	if ((!conf->source.family || bind(fd, &from.sa, sockaddr_fill(&from, &conf->source, 0)) == 0) &&
		connect(fd, &to.sa, sockaddr_fill(&to, &conf->address, 0)) == 0 && getsockname(fd, &from.sa, &size) == 0) {
		*source = sockaddr_netaddr(&from);
		if (!netaddr_is_unspecified(source))
			return fd;
		errno = EADDRNOTAVAIL;
	}
	error = errno;
	close(fd);
	return -error;
}

bool probe_open(struct probe *probe, const struct announce_probe *conf, struct faults *faults)
{
	struct netaddr source;

	*probe = (struct probe){.conf = conf, .fd = -1};
	if (!probe_exists(probe))
		return true;
	probe->fd = open_socket(conf, &source);
	if (probe->fd == -EPERM)
		faults_error(faults, "probe", "this process may not send pings: it needs root or CAP_NET_RAW");
	else if (probe->fd == -EADDRNOTAVAIL && conf->source.family)
		faults_error(faults, "probe.source", "this host does not have the address");
	else
		return true; /* a route may come later */
	return false;
}

void probe_close(struct probe *probe)
{
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = -1;
}

void probe_rest(struct probe *probe)
{
	probe_close(probe);
	probe->sent = probe->replied = false;
}

/* Each request has a new socket, because the route, and so the source address, may have changed. Returns 0
 * or -errno. */
static int send_request(struct probe *probe)
{
	size_t ip_size = probe->conf->address.family == NETADDR_V4 ? NET_IPV4_SIZE : NET_IPV6_SIZE, size;
	uint8_t packet[ECHO_MAX_SIZE];
	struct netaddr source;

	probe_close(probe);
	probe->fd = open_socket(probe->conf, &source);
	if (probe->fd < 0)
		return probe->fd;
	if (getrandom(&probe->echo, sizeof(probe->echo), GRND_NONBLOCK) != sizeof(probe->echo))
		return -EAGAIN;
	size = echo_write(packet, &source, &probe->conf->address, &probe->echo);
	/* The kernel writes the IP header. */
	return send(probe->fd, packet + ip_size, size - ip_size, 0) < 0 ? -errno : 0;
}

static bool is_reply(const struct probe *probe, const uint8_t *packet, size_t size)
{
	struct echo echo;
	bool reply = probe->conf->address.family == NETADDR_V4 ? echo_read_reply_ipv4(packet, size, &echo)
							       : echo_read_reply(packet, size, NETADDR_V6, &echo);

	return reply && echo.identifier == probe->echo.identifier && echo.sequence == probe->echo.sequence &&
	       memcmp(echo.nonce, probe->echo.nonce, sizeof(echo.nonce)) == 0;
}

/* A connected socket receives packets from the address of the probe only. */
static void read_replies(struct probe *probe)
{
	uint8_t packet[256]; /* replies to our requests are shorter */

	for (unsigned i = 0; probe->fd >= 0 && i < READ_MAX; i++) {
		ssize_t size = recv(probe->fd, packet, sizeof(packet), 0);

		if (size >= 0)
			probe->replied |= probe->sent && is_reply(probe, packet, (size_t)size);
		else if (errno == EAGAIN)
			return;
	}
}

bool probe_step(struct probe *probe, uint64_t now_ms, bool *replied)
{
	bool result = probe->sent;
	int error;

	read_replies(probe);
	if (now_ms < probe->next_ms)
		return false;
	*replied = probe->replied;
	error = send_request(probe);
	snprintf(probe->error, sizeof(probe->error), "%s", error ? strerror(-error) : "");
	probe->sent = true;
	probe->replied = false;
	probe->next_ms = now_ms + probe->conf->interval_ms;
	return result;
}
