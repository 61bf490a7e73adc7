/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives a JSON table to the director: builds the binary table, notifies the director, and compares the table that it
 * uses with the one that was built. For the child process of a daemon: blocks, and writes errors to stderr.
 */
#pragma once

#include "deliver/director.h"

struct deliver {
	const char *json, *binary;
	const char *rights; /* a file with the rights that a new binary table gets at most, see file_replace() */
	const char *notify; /* a systemd unit, or the full path of a pid file */
	unsigned timeout_ms; /* after which the daemon ends the child process */
};

/* Results after the director was notified. Any other one but 0 is a failure. */
enum {
	/* The director does not tell which table it uses. */
	DELIVER_UNVERIFIED = 3,
	/* The director uses another table than the one that was built. */
	DELIVER_STALE = 4,
};

/*
 * Builds the binary table, and sets the digest of it. It parses the JSON file again instead of using the set that the
 * daemon has in memory: the director must get what the file holds, and the daemon's set may be ahead of it, for example
 * when a failed attempt is repeated later. Parsing also proves that what is on the disk is a good table. Returns 0 or
 * -errno.
 */
int deliver_build(const struct deliver *plan, char digest[DIRECTOR_DIGEST_SIZE]);

/* Asks the director that `notify` names. Returns false if it does not tell. */
bool deliver_ask(const char *notify, struct director_table *table);

/* Returns 0 when the director uses the table with this digest, or an exit code. */
int deliver_notify(const struct deliver *plan, const char *digest);
