/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pings an address that only this director announces. The request leaves this host, a router sends it to the director,
 * the director sends it to a proxy, and the proxy replies to this host. So a reply proves that the director forwards.
 * Does not block. One thread.
 */
#pragma once

#include "announce/config/announce_conf.h"
#include "health/echo.h"

struct probe {
	const struct announce_probe *conf;
	int fd; /* of the last request, which has a socket of its own; -1: closed */
	struct echo echo; /* the last request */
	bool sent, replied;
	uint64_t next_ms; /* when the next request is due */
	char error[128]; /* why the last request could not be sent; "": it was sent */
};

/* Checks that this process can send requests, if the configuration has a probe. Returns false after an error
 * in faults. */
bool probe_open(struct probe *probe, const struct announce_probe *conf, struct faults *faults);
void probe_close(struct probe *probe);

/* Returns whether the configuration has a probe. */
static inline bool probe_exists(const struct probe *probe)
{
	return probe->conf->address.family;
}

/* Forgets the last request. */
void probe_rest(struct probe *probe);

/* Sends a request if one is due. Returns true if there is a result of the one before, and sets *replied. */
bool probe_step(struct probe *probe, uint64_t now_ms, bool *replied);
