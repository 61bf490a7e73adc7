/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which table the director uses, and whether it should get packets. It asks the director's telemetry; without the right
 * to do so, it reads the status line of the director's unit. Runs in a child process, because it blocks, and reads
 * binary tables of up to 2 GiB.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/text.h"
#include "fleet/fleet_conf.h"

#define LOOK_REASONS 8

/* What the agent knows about the director. */
struct look {
	bool answers;
	char state[16]; /* as in /glb/health; "unknown" */
	char digest[TEXT_HEX64], fingerprint[TEXT_HEX64], first_hops[TEXT_HEX64]; /* "": not known */
	bool current; /* it uses the table in `table`, apart from health and what follows from it */
	json_t *reasons; /* texts; owned */
};

struct look_plan {
	const struct fleet_conf *conf;
	uint64_t written; /* apply_hash() of the table's file, as the agent has written it */
	const char *digest; /* of the binary table that the agent has built; "": it built none */
	/* The digest with which `current` of the last look was decided; "": decide it again. */
	const char *decided;
};

/* For job_start(), data: a struct look_plan. The result is for look_take(). */
void look_run(const void *data);

/* Takes the result of a look; NULL: there is none. */
void look_take(struct look *look, const json_t *result);

/* Frees what it owns. */
void look_free(struct look *look);
