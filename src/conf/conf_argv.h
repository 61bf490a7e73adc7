/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that operators name in configurations, with their arguments: ["/full/path", "ARGUMENT"]. No shell is
 * involved. Thread-safe.
 */
#ifndef GLB_CONF_CONF_ARGV_H
#define GLB_CONF_CONF_ARGV_H

#include <stdbool.h>

#include "conf/conf_reader.h"

/* A text like "{ip}", which the program replaces in arguments. */
struct conf_argv_place {
	const char *text; /* NULL ends the array */
	const char *meaning; /* for messages: "the address of the proxy" */
};

/*
 * Reads the list into *arguments, which ends with NULL and belongs to the caller, with its strings. Adds an error if it
 * is no list of texts, names a program that cannot be run, or has a text like "{place}" that is not one of `places`.
 */
void conf_argv_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_argv_place *places,
	char ***arguments);
void conf_argv_free(char **arguments);

/* Adds an error if the text has a "{place}" that is not one of `places`. Returns whether it has none. */
bool conf_argv_check_places(struct conf_reader *reader, const config_setting_t *at, const struct conf_argv_place *places);

#endif
