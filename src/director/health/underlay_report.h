/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routers that said that the network to the proxies is too small (packet/icmp/underlay.h): one record for each
 * proxy. The control thread adds the notes of the workers. Any thread may read a copy. Times are milliseconds of
 * clock_now_ms().
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "packet/icmp/underlay.h"
#include "program/facts.h"

#define UNDERLAY_REPORT_MAX       64 /* proxies with a record; that of the oldest message makes way for a new one */
#define UNDERLAY_REPORT_EXPIRE_MS 600000 /* after the last message, as hosts forget a path MTU (RFC 1191 section 6.3) */
#define UNDERLAY_REPORT_LOG_MS    60000 /* between two lines in the log */
#define UNDERLAY_REPORT_TEXT      320

struct underlay_record {
	struct underlay_note last; /* the last message; its backend identifies the record */
	uint64_t messages;
	uint64_t seen_ms; /* when the last message was added */
};

struct underlay_report {
	pthread_mutex_t lock; /* protects the records; only the control thread writes them */
	uint32_t count;
	struct underlay_record records[UNDERLAY_REPORT_MAX]; /* ascending by address of the backend */

	/* Control thread only. */
	struct underlay_note newest;
	uint64_t unlogged; /* messages since the last line in the log */
	uint64_t logged_ms; /* 0: never */
};

void underlay_report_open(struct underlay_report *report);

/* Adds a message. Control thread. */
void underlay_report_add(struct underlay_report *report, const struct underlay_note *note, uint64_t now_ms);

/*
 * Forgets old records. True: a line for the log is due, and `text` has it. Control thread, about once a second.
 * outbound_mtu: as in struct steering_config.
 */
bool underlay_report_tick(
	struct underlay_report *report, uint16_t outbound_mtu, uint64_t now_ms, char text[UNDERLAY_REPORT_TEXT]);

extern const struct fact underlay_report_facts[]; /* about struct underlay_record */

/* Copies the records. Returns their number. Any thread. */
uint32_t underlay_report_read(struct underlay_report *report, struct underlay_record records[UNDERLAY_REPORT_MAX]);

/* Writes "router 192.0.2.1 forwards at most 1500 bytes to proxy 192.0.2.2". Returns text. */
const char *underlay_report_text(const struct underlay_note *note, char text[UNDERLAY_REPORT_TEXT]);
