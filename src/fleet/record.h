/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the agent publishes about its director: the key PREFIX/directors/NAME, under the agent's lease. Another agent
 * with the same name keeps its record: this one says so, and publishes nothing. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"
#include "etcd/etcd.h"

#define RECORD_KEY_MAX 300

struct fleet;

struct record {
	char key[RECORD_KEY_MAX], instance[TEXT_HEX64];
	struct etcd_mirror *mirror; /* of this key */
	bool known; /* the key was read, so that its owner is known */
	uint64_t revision; /* mod_revision of the key; 0: it does not exist */
	uint64_t lease; /* of the key */
	uint64_t next_ms; /* nothing is published before this time */
	uint64_t text_ms; /* no change of reasons alone is published before this time */
	char conflict[256]; /* who else has this name; "": nobody */
	char *published; /* owned: the last text that etcd has taken, without `changed`; NULL: none */
	char *sent; /* owned: the text that is on its way; NULL: none */
	uint64_t sent_lease;
	int64_t changed_s; /* Unix time of the last change of the text */
};

void record_open(struct fleet *fleet);
void record_close(struct fleet *fleet);

/* Publishes the record if it has changed, or is missing in etcd. */
void record_step(struct fleet *fleet);

/* Returns the record, a new reference. */
json_t *record_describe(const struct fleet *fleet);
