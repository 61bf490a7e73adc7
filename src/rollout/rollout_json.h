/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The documents about roll-outs in etcd: docs/reference/rollout.md. All text that comes from etcd may be anything; what
 * these functions return has no control characters. One thread.
 */
#pragma once

#include <jansson.h>

#include "rollout/rollout.h"

/*
 * Parses PREFIX/rollout strictly: a member that is missing, unknown or out of range is a fault. revision: mod_revision
 * of the key. On true the caller calls rollout_free(); on false `fault` says what is wrong.
 */
bool rollout_parse(const char *text, uint64_t revision, struct rollout *rollout, char fault[ROLLOUT_REASON_MAX]);

/* Returns the document; NULL: out of memory. */
json_t *rollout_json(const struct rollout *rollout);
/* The same as text; the caller frees it. */
char *rollout_text(const struct rollout *rollout);

/* Parses the value of PREFIX/directors/NAME, of which unknown members are ignored: directors of other versions may be
 * alive. text: NULL: the value is not text. Always fills *director; see its `fault`. */
void rollout_parse_director(const char *name, const char *text, struct rollout_director *director);
