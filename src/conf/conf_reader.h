/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads configuration files in libconfig syntax: groups of settings into structs, by a table of
 * keys. Every fault names its file, line, key and value. Knows nothing of any program's keys.
 */
#ifndef GLB_CONF_CONF_READER_H
#define GLB_CONF_CONF_READER_H

#include <stddef.h>

#include <libconfig.h>

#include "common/faults.h"
#include "common/netaddr.h"

/* A word that used to be a key or a choice, and what to say to who still writes it. */
struct conf_retired {
	const char *word;
	const char *as_key, *as_choice;
};

struct conf_reader {
	void *conf; /* what the whole file is read into */
	struct faults *faults;
	const struct conf_retired *retired; /* ends without a word; NULL: none */
};

struct conf_key {
	const char *name;
	/* Reads the setting into `field`, the key's member of the group's struct, or reports why
	 * not. */
	void (*read)(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
	size_t offset; /* of the member */
	long min, max; /* of integers */
	enum netaddr_family family; /* of addresses */
	const char *const *choices; /* of conf_read_choice(), ends with NULL */
	const char *required; /* what to write, where the key may not be left out */
};

/* Reads every member of a group by the keys (the last one has no name); unknown and missing ones
 * are errors. */
void conf_read_group(struct conf_reader *reader, const config_setting_t *group, const struct conf_key *keys, void *base);

void conf_read_bool(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_uint16(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_unsigned(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
/* Not empty; a copy, which the caller frees. An earlier one is freed. */
void conf_read_string(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_choice(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key,
	void *field); /* an enum whose values number the choices */

/*
 * Reads the file `path` and calls `read` with the root group. 0; or -EINVAL: the faults have
 * errors; or other -errno: could not be read, an error says so. Faults are prefixed with
 * faults->file.
 */
int conf_read_file(const char *path, struct conf_reader *reader,
	void (*read)(struct conf_reader *reader, const config_setting_t *root));

/* Adds an error "FILE:LINE: KEY: ...", with the key's full path. child: a member's name or NULL. */
void conf_error(struct conf_reader *reader, const config_setting_t *at, const char *child, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void conf_warn(struct conf_reader *reader, const config_setting_t *at, const char *child, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#define CONF_VALUE_MAX 64

/* A setting's value, for messages: with its type where it is not `expected`, a CONFIG_TYPE_*.
 * Returns buf or a constant. */
const char *conf_value(const config_setting_t *at, int expected, char buf[CONF_VALUE_MAX]);

#endif
