/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the agent must know after a restart: the file state_file. Without it, a restart takes whatever etcd has. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"

struct state {
	uint64_t cluster; /* id of etcd's cluster; 0: not known yet */
	uint64_t newest; /* mod_revision of the newest value of PREFIX/table that was looked at */
	uint64_t value; /* apply_hash() of that value */
	uint64_t applied; /* mod_revision of the value in the table's file; 0: it is not from etcd */
	uint64_t applied_value; /* apply_hash() of that value */
	uint64_t written; /* apply_hash() of the table's file; 0: the agent has not written it */
	char digest[TEXT_HEX64]; /* of the binary table that was built from the file; "": none was */
};

/* Reads the file; logs a warning and begins anew if it is damaged. */
void state_read(const char *path, struct state *state);

/* Returns false, and logs it at most once a second, if the file cannot be written. */
bool state_write(const char *path, const struct state *state);
