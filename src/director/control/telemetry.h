/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The director's commands of DPDK telemetry, docs/reference/telemetry.md: a file each. They run in
 * DPDK's threads, so they lock what the control thread replaces.
 */
#ifndef GLB_DIRECTOR_CONTROL_TELEMETRY_H
#define GLB_DIRECTOR_CONTROL_TELEMETRY_H

#include "director/control/control.h"
#include "director/control/dpdk_compat.h"
#include "director/director.h"

#define TELEMETRY_ANSWER    16384 /* DPDK leaves out what does not fit an answer of this size */
#define TELEMETRY_TEXT_SIZE 128 /* a string of an answer, with its end */

/* Registers all; they answer from then on until telemetry_close(). 0, or -errno. */
int telemetry_open(struct director *director, struct control *control);

/* From then on all commands fail; waits for those that run. */
void telemetry_close(void);

/* A whole answer: fill *data; parameters is NULL or what followed the first comma. 0, or -errno:
 * then there is no answer. */
int telemetry_stats(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_tables(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_lookup(struct director *director, const char *parameters, struct rte_tel_data *data);

/* {"error": TEXT}. */
int telemetry_error(struct rte_tel_data *data, const char *text);

/* Adds a value, which it takes over, by its number: DPDK 22.11 drops lists of objects that are not
 * outermost. NULL adds nothing. */
void telemetry_add_numbered(struct rte_tel_data *data, unsigned number, struct rte_tel_data *value);

/* Adds text of any length: what does not fit KEY goes on in KEY_2, KEY_3 ... */
void telemetry_add_text(struct rte_tel_data *data, const char *key, const char *text);

#endif
