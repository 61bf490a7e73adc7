/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the running director over one telemetry connection, which stays open. The kernel closes it when the director
 * ends, so even a short restart is seen. Each question blocks for the timeout at most. One thread.
 */
#pragma once

#include "announce/config/announce_conf.h"
#include "announce/decision.h"
#include "program/telemetry_socket.h"

struct director_bind {
	struct netprefix prefix;
	uint32_t table; /* an index */
};

struct director_table {
	char name[64];
	uint32_t good_backends;
};

struct director {
	struct telemetry_socket socket;
	json_int_t pid; /* of the last connection; 0: there was none */
	/* Counts the forwarding tables of the director. `binds` and `tables` are those of this one; 0: they
	 * are empty. */
	json_int_t generation;
	struct director_bind *binds; /* owned */
	size_t bind_count;
	struct director_table *tables; /* owned */
	size_t table_count;
	/* The last answer, which holds for all VIPs, and why. */
	enum answer answer;
	char reason[DECISION_REASON_MAX];
	char state[16]; /* "ok", "failing" ...; "unknown" */
};

void director_open(struct director *director);
void director_close(struct director *director);

/* Asks for the health and the tables. Returns true if the binds have changed. */
bool director_ask(struct director *director, const struct announce_conf *conf);

/* Returns the last answer for a VIP, and writes why. */
enum answer director_answer(
	const struct director *director, const struct netprefix *prefix, char reason[DECISION_REASON_MAX]);

/*
 * Writes the prefixes of the binds that may be announced, each once, and returns their number, at most `max`. Leaves
 * out prefixes that cover the address of the probe. *left_out: how many others are too many, or larger than /24 (IPv4)
 * or /48 (IPv6).
 */
size_t director_prefixes(const struct director *director, const struct netaddr *probe, struct netprefix *prefixes,
	size_t max, size_t *left_out);
