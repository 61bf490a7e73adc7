/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes captured packets for people, and the verdicts that they choose packets by. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "packet/capture_messages.h"
#include "table/table.h"

/* The labels of the tables of one generation. */
struct capture_labels {
	uint64_t generation;
	uint32_t count;
	char labels[TABLE_MAX_TABLES][CAPTURE_TEXT];
};

/* Writes "forwarded, table web, row 9014, hops 192.168.50.11 192.168.50.12". labels: of the record's generation, or
 * NULL. */
#define CAPTURE_OUTCOME_MAX 768
void capture_text_outcome(
	const struct capture_record *record, const struct capture_labels *labels, char text[CAPTURE_OUTCOME_MAX]);

/* Prints a line about the packet. port: the name of the port. */
void capture_text_print(FILE *out, const struct capture_record *record, const char *port, const char *outcome);

/* Returns the name of a verdict or of CAPTURE_RETURNED. */
const char *capture_text_verdict(unsigned verdict);

/* Offers all of these names to the shell that completes a command line. */
void capture_text_offer(void);

/*
 * Parses names of verdicts with commas between them; "drop" stands for all that begin with drop_. Fills *verdicts as in
 * struct capture_request, and returns NULL; or returns the start of the first wrong name, with its length in *length.
 */
const char *capture_text_parse(const char *text, uint32_t *verdicts, int *length);
