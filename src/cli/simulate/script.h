/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The script of a simulation: text with one command a line, which docs/reference/cli.md describes. Parsing checks each
 * line by itself; world.h checks the changes against the table. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/simulate/lengths.h"
#include "common/faults.h"
#include "common/netaddr.h"

#define SCRIPT_MAX_SIZE      ((size_t)1 << 20) /* bytes */
#define SCRIPT_MAX_STEPS     10000
#define SCRIPT_MAX_PROXY     60000 /* number of a proxy */
#define SCRIPT_MAX_DIRECTORS 1024

enum script_verb {
	SCRIPT_ADD,
	SCRIPT_REMOVE,
	SCRIPT_DRAIN,
	SCRIPT_UNDRAIN,
	SCRIPT_WEIGHT,
	SCRIPT_FAIL,
	SCRIPT_UNHEALTHY,
	SCRIPT_RECOVER,
	SCRIPT_WAIT,
	SCRIPT_WAIT_DRAINED,
	SCRIPT_HOPS,
	SCRIPT_BALANCE,
	SCRIPT_HISTORY,
};

/* Proxies that a line names: numbers from `first` to `last`; or, if both are 0, an address; or, without one, all. */
struct script_proxies {
	uint32_t first, last;
	struct netaddr addr; /* family NETADDR_NONE: none */
};

/* A line that is a change or a wait. */
struct script_step {
	int line; /* from 1 */
	enum script_verb verb;
	char *text; /* the words of the line, with one space between them */
	struct script_proxies *proxies;
	size_t proxies_count;
	int64_t wait_ms;
	uint32_t number; /* weight (0: not given), hops, balance in thousandths (0: off) */
	bool draining; /* add */
	bool on; /* history */
};

struct script {
	struct lengths lengths;
	uint32_t rate; /* new connections a second */
	uint32_t directors;
	int64_t behind_ms[SCRIPT_MAX_DIRECTORS]; /* how late each director uses a new table */
	size_t count;
	struct script_step *steps; /* owned, like everything in them */
};

/*
 * Parses the text, which faults->file names, and changes it. Returns true; or false, and faults has an error for each
 * wrong line. The caller frees the script in either case.
 */
bool script_parse(struct script *script, char *text, struct faults *faults);
void script_free(struct script *script);

/* Adds an error about a line. */
void script_error(struct faults *faults, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
