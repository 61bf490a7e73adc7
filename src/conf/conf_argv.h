/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that operators name in configurations, with their arguments: ["/full/path", "ARGUMENT"]. No shell is
 * involved. Thread-safe.
 */
#pragma once

#include <stdbool.h>

#include "conf/conf_reader.h"

/* A text like "{ip}", which the program replaces in arguments. */
struct conf_argv_place {
	const char *text; /* NULL ends the array */
	const char *meaning; /* for messages: "the address of the proxy" */
};

/*
 * For `read` of a key: *field is a char **. Reads the list into it; it ends with NULL and belongs to the caller, with
 * its strings. Adds an error if the setting is no list of texts, names a program that cannot be run, or has a text like
 * "{place}" that is not one of key->places.
 */
void conf_argv_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_argv_free(char **arguments);

/* Reads a text, as conf_read_string() does, in which the same texts are replaced. */
void conf_argv_read_line(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
