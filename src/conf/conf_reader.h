/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads configuration files in libconfig syntax into structs, with the tables of conf_key.h. Each fault names the file,
 * the line, the key and the value. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libconfig.h>

#include "common/endpoint.h"
#include "common/faults.h"
#include "conf/conf_key.h"

/* A word that is no longer a key or a choice, and the errors for users who still write it. */
struct conf_retired {
	const char *word;
	const char *as_key, *as_choice; /* texts of the errors; as_choice is NULL if it was never a choice */
};

struct conf_reader {
	void *conf; /* the struct that the whole file is read into */
	struct faults *faults;
	const struct conf_retired *retired; /* the last one has no word; NULL: none */
};

/* Sets the defaults of the keys in the struct at `base`, then reads each setting of a group with its key. Adds errors
 * for unknown settings and for missing required ones. */
void conf_read_group(struct conf_reader *reader, const config_setting_t *group, const struct conf_key *keys, void *base);

/* For `read` of a key: *field is a bool, a uint16_t, an unsigned. */
void conf_read_bool(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_uint16(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_unsigned(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* *field is a char *, NULL or malloc'd. Replaces it by a copy of the string, which the caller frees. An empty string is
 * an error. */
void conf_read_string(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* For `fault` of a key with a full path. */
const char *conf_path_fault(const char *text);

/* Frees the strings of conf_read_string() in the struct at `base`, and in its conf_read_members(). */
void conf_free_strings(const struct conf_key *keys, void *base);

/* key->parse knows what *field is. */
void conf_read_text(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* *field is an enum whose values are the indices of the choices. */
void conf_read_choice(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* *field is the struct that key->keys describe. */
void conf_read_members(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/*
 * Returns how many elements a list has. 0: the list is empty, and key->min is 0; or an error was added, because the
 * setting is not a list of key->min to key->max elements. A list of groups is in parentheses; other lists may also be
 * arrays.
 */
unsigned conf_list_length(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key);

/* Returns zeroed memory for the elements of a list, and for another one behind the last. NULL: an error was added. */
void *conf_allocate(struct conf_reader *reader, const config_setting_t *at, unsigned count, size_t size);

/* Replaces *text, which is NULL or malloc'd, by a copy. */
void conf_store(struct conf_reader *reader, const config_setting_t *at, char **text, const char *copied);

/* Returns true if the setting is this text. */
bool conf_is_word(const config_setting_t *at, const char *word);

/* Parses a MAC like "02:00:5e:10:00:01". False: the text is not one, and mac[] is undefined. */
bool conf_parse_mac(const char *text, uint8_t mac[6]);

/* For `parse` of a key: *field is the uint8_t[6] of a unicast MAC. */
const char *conf_parse_unicast_mac(const char *text, void *field);

/* Parses the address and the port where a program listens, both zero for "none". False: the text is something else. */
bool conf_parse_listen(const char *text, struct endpoint *listen);

/* Reads an address or a prefix. Returns false and adds an error if it is neither, or has bits after the prefix. */
bool conf_read_prefix(struct conf_reader *reader, const config_setting_t *at, struct netprefix *prefix);
bool conf_is_list(const config_setting_t *at);

/*
 * Reads the file `path` and calls `read` with the root group. Returns 0; or -EINVAL: the faults have errors; or another
 * -errno: the file could not be read, and an error says so. Faults begin with faults->file.
 */
int conf_read_file(const char *path, struct conf_reader *reader,
	void (*read)(struct conf_reader *reader, const config_setting_t *root));

/* Add an error, a warning "FILE:LINE: KEY: TEXT". KEY is the full path of the setting, and of its member `child` unless
 * that is NULL. */
void conf_error(struct conf_reader *reader, const config_setting_t *at, const char *child, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void conf_warn(struct conf_reader *reader, const config_setting_t *at, const char *child, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds an error "FILE:LINE: KEY: VALUE TEXT", where TEXT says what is wrong with the setting's value. Also names its
 * type if that is not `expected`, a CONFIG_TYPE_*. */
void conf_wrong(struct conf_reader *reader, const config_setting_t *at, int expected, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
