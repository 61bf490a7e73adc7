/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads configuration files in libconfig syntax. The program describes the keys of a group in an array, and
 * conf_read_group() fills a struct from them. Each fault names the file, the line, the key and the value. Not
 * thread-safe.
 */
#ifndef GLB_CONF_CONF_READER_H
#define GLB_CONF_CONF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libconfig.h>

#include "common/faults.h"
#include "common/netaddr.h"

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

struct conf_key {
	const char *name;
	/* Reads the setting into `field`, which is the key's member of the group's struct. Or adds an error and leaves
	 * it. */
	void (*read)(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
	size_t offset; /* of the member, in bytes */
	/* Each of the next three is for some `read` functions only. */
	long min, max; /* of an integer */
	enum netaddr_family family; /* of an address */
	const char *const *choices; /* for conf_read_choice(); ends with NULL */
	const char *required; /* what to write, for the error if the key is missing; NULL: optional */
};

/* Reads each setting of a group with its key, into a member of the struct at `base`. The last key has no name. Adds
 * errors for unknown settings and for missing required ones. */
void conf_read_group(struct conf_reader *reader, const config_setting_t *group, const struct conf_key *keys, void *base);

/* For `read` of a key: *field is a bool, a uint16_t, an unsigned. */
void conf_read_bool(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_uint16(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_unsigned(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* *field is a char *, NULL or malloc'd. Replaces it by a copy of the string, which the caller frees. An empty string is
 * an error. */
void conf_read_string(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* *field is an enum whose values are the indices of the choices. */
void conf_read_choice(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* Parses a MAC like "02:00:5e:10:00:01". False: the text is not one, and mac[] is undefined. */
bool conf_parse_mac(const char *text, uint8_t mac[6]);

/* *field is a uint8_t[6]: a unicast MAC. */
void conf_read_mac(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/*
 * Reads an address or a prefix. Returns false and adds an error if it is neither, or has bits after the prefix. A list
 * of them is an array or a list of libconfig.
 */
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

/* Returns how many of the keys the text has at its top level. Also counts the keys of text that is JSON. */
unsigned conf_count_keys(const char *text, const struct conf_key *keys);

#define CONF_VALUE_MAX 64

/* Returns a setting's value as text for messages, in buf or as a constant. Adds its type if that is not `expected`, a
 * CONFIG_TYPE_*. */
const char *conf_value(const config_setting_t *at, int expected, char buf[CONF_VALUE_MAX]);

#endif
