/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a value of PREFIX/table the table of this director: checks it, writes it, builds the binary table, and notifies
 * the director. Runs in a child process, because the value may be anything, and because all of this may take long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/fleet_conf.h"

struct apply {
	const struct fleet_conf *conf;
	const char *text; /* the value */
	bool known; /* the value was in use before, so the guard has allowed it */
	uint64_t written; /* apply_hash() of the text that the agent wrote last; 0: it wrote none */
};

/* A digest that tells texts apart. Never 0. */
uint64_t apply_hash(const char *text, size_t size);

/* Returns true if the file has the text with this digest. */
bool apply_has(const char *path, uint64_t hash);

/*
 * For job_start(), data: a struct apply. The result has "result": "applied", "refused" or "failed"; "reason"; "edited":
 * true if the file was not as the agent had written it; and, as 16 hex digits, "written": apply_hash() of what the
 * agent has written to the file, "fingerprint" of the value, and "digest" of the binary table, "" if it built none.
 * After "refused" the files are as before. After "failed", which may be repeated, the table is not in use yet.
 */
void apply_run(const void *data);
