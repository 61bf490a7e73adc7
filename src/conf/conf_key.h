/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of a configuration file. All that anyone types about a key is one entry of a table that stands beside the
 * struct with its value. conf_reader.h reads files with such tables, and tests/docs compares the documentation with
 * them. A table ends with an entry without name. Constant data: any thread may read it.
 */
#pragma once

#include <stddef.h>

struct conf_argv_place;
struct conf_reader;
struct config_setting_t; /* libconfig's */

struct conf_key {
	const char *name;
	/* Reads the setting into `field`, the key's member of the group's struct. Or adds an error and leaves it. */
	void (*read)(
		struct conf_reader *reader, const struct config_setting_t *at, const struct conf_key *key, void *field);
	size_t offset; /* of the member, in bytes */
	const char *fallback; /* the default as in a file, for instance "\"poll\""; NULL: the member stays as it is */
	/* Each of these is for some `read` functions only. */
	long min, max; /* of an integer, or of the elements of a list */
	const char *const *choices; /* of conf_read_choice(); ends with NULL */
	const struct conf_key *keys; /* of a group, or of each group in a list */
	/* The function of conf_read_text(). Sets *field. Returns NULL, or what is wrong: "is not an IPv4 address". */
	const char *(*parse)(const char *text, void *field);
	/* The check of conf_read_string(). Returns NULL, or what is wrong. NULL: there is no check. */
	const char *(*fault)(const char *text);
	const struct conf_argv_place *places; /* of conf_argv_read() and conf_argv_read_line() */
	const char *expected; /* of a list: what is wrong with a value that is none: "is not a list like [1, 2]" */
	const char *items; /* what a list has too many of; NULL: `expected` says it */
	const char *required; /* what to write, for the error if the key is missing; NULL: optional */
};

/* Returns how many of the keys the text has at its top level. Also counts the keys of text that is JSON. */
unsigned conf_count_keys(const char *text, const struct conf_key *keys);

/* Sets the members of *base whose keys have a default. conf_read_group() does this itself. */
void conf_set_defaults(const struct conf_key *keys, void *base);
