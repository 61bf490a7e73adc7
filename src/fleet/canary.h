/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of the director that uses the first step of a roll-out before the others do. The document of the roll-out
 * names it, so that no key is left behind when the roll-out ends. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fleet;

struct canary {
	bool away; /* the table in the file is that of a canary's step, so PREFIX/table does not count */
	bool asking; /* for the text of the step */
	uint64_t revision; /* of the text that was read or asked for; 0: none */
	uint64_t next_ms; /* nothing is asked for before this time */
};

/* Before PREFIX/table is read: the agent may have been started again meanwhile. */
void canary_open(struct fleet *fleet);

/* Takes the text of the step if this director is the canary, or else goes back to PREFIX/table. */
void canary_step(struct fleet *fleet);
