/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for the replies of telemetry commands: what DPDK's functions lack, or what DPDK 22.11 gets wrong. A part of a
 * reply may be NULL, because there is no memory for it: then it is left out.
 */
#pragma once

#include "director/dpdk_compat.h"
#include "program/facts.h"

#define TELEMETRY_REPLY_SIZE 16384 /* DPDK leaves out the values that do not fit a reply of this size */
#define TELEMETRY_TEXT_SIZE  128 /* of a string in a reply, with its terminating zero */

/* Makes the reply {"error": TEXT}. Returns 0, so that a command can return it. */
int telemetry_reply_error(struct rte_tel_data *data, const char *text);

/* Returns an object that is a part of a reply. NULL: out of memory. */
struct rte_tel_data *telemetry_reply_part(void);

/* Adds a part to a dictionary, and takes ownership of it. */
void telemetry_reply_add(struct rte_tel_data *data, const char *key, struct rte_tel_data *part);

/*
 * The same with `number` as the key. Lists of objects are dictionaries like this, because DPDK 22.11 drops an array of
 * objects inside another object.
 */
void telemetry_reply_numbered(struct rte_tel_data *data, unsigned number, struct rte_tel_data *part);

/*
 * Adds text of any length. What does not fit `key` goes on in KEY_2, KEY_3 and so on. '?' replaces each character that
 * is not printable ASCII.
 */
void telemetry_reply_text(struct rte_tel_data *data, const char *key, const char *text);

/* Adds a number, as 16 hex digits. */
void telemetry_reply_hex(struct rte_tel_data *data, const char *key, uint64_t number);

/* Adds the numbers of *from that have a key. */
void telemetry_reply_facts(struct rte_tel_data *data, const struct fact *facts, const void *from);
