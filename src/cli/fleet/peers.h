/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts of a fleet, as users name them on the command line or in a file of --hosts or --proxies, and their pages of
 * metrics. docs/reference/doctor.md#the-fleet describes the form. The struct owns its hosts; peers_free(). One thread;
 * asking blocks.
 */
#pragma once

#include "cli/fleet/fetch.h"

#define PEERS_MAX   4096
#define PEERS_PAGES 2 /* of a host without a port: as a director, and as a proxy */

struct peer {
	const char *text; /* as the user wrote it */
	struct netaddr backend; /* BACKEND of BACKEND=HOST, or HOST if it is an address; family 0: not known */
	struct fetch pages[PEERS_PAGES]; /* one without a URL is not used */
};

struct peers {
	const char *what; /* for messages: where the words come from, such as "doctor --fleet"; borrowed */
	struct peer *items;
	size_t count;
	char *text; /* of the file */
};

/* Parses the words and those of the file. file: NULL: none. Returns COMMAND_OK, or the exit code after an error
 * message. */
int peers_read(struct peers *peers, char *const words[], size_t count, const char *file);

/* Fetches the pages of all peers, of which the samples with the wanted names are kept. Returns false after an error
 * message. */
bool peers_ask(struct peers *peers, const char *const *wanted, unsigned timeout_s);

/* Returns the page of the host that has a sample of this name, or NULL. */
const struct fetch *peers_page_with(const struct peer *peer, const char *name);

#define PEERS_REASONS_MAX (PEERS_PAGES * (FETCH_ERROR_MAX + FETCH_URL_MAX + 64))

/*
 * Writes why pages of the host have no sample with one of these names; the list ends with NULL. `owner`: of the page
 * that is wanted, such as "a proxy". Returns buf.
 */
const char *peers_reasons(
	const struct peer *peer, const char *const *names, const char *owner, char buf[PEERS_REASONS_MAX]);

void peers_free(struct peers *peers);

/* The end of a message about a host that does not reply: its user should check this. */
#define PEERS_ADVICE \
	"does it run, does it listen on an address that others can reach, and does a firewall let this host in?"
