/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the reader of director.conf: groups of libconfig settings read into structs by a
 * table of keys. Only for conf*.c.
 */
#ifndef GLB_DIRECTOR_CONF_READER_H
#define GLB_DIRECTOR_CONF_READER_H

#include <stddef.h>

#include <libconfig.h>

#include "director/conf.h"

struct conf_reader {
	struct conf *conf;
	struct faults *faults;
};

struct conf_key {
	const char *name;
	/* Reads the setting into `field`, the key's member of the group's struct, or reports why
	 * not. */
	void (*read)(struct conf_reader *reader, const config_setting_t *at,
		const struct conf_key *key, void *field);
	size_t offset;              /* of the member */
	long min, max;              /* of conf_read_uint16() */
	const char *const *choices; /* of conf_read_choice(), ends with NULL */
	const char *required;       /* what to write, where the key may not be left out */
};

/* Reads every member of a group by the keys (the last one has no name); unknown and missing ones
 * are errors. */
void conf_read_group(struct conf_reader *reader, const config_setting_t *group,
	const struct conf_key *keys, void *base);

void conf_read_bool(struct conf_reader *reader, const config_setting_t *at,
	const struct conf_key *key, void *field);
void conf_read_uint16(struct conf_reader *reader, const config_setting_t *at,
	const struct conf_key *key, void *field);
void conf_read_choice(struct conf_reader *reader, const config_setting_t *at,
	const struct conf_key *key, void *field); /* an enum whose values number the choices */

/* flow_paths and lcores, into reader->conf. */
void conf_read_flow_paths(struct conf_reader *reader, const config_setting_t *at,
	const struct conf_key *key, void *field);
void conf_read_lcores(struct conf_reader *reader, const config_setting_t *at,
	const struct conf_key *key, void *field);

/* That lcores and flow_paths, both read without errors, fit together; root: of the file. */
void conf_check_lcores(struct conf_reader *reader, const config_setting_t *root);

/* Adds an error "FILE:LINE: KEY: ...", with the key's full path. child: a member's name or NULL. */
void conf_error(struct conf_reader *reader, const config_setting_t *at, const char *child,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
void conf_warn(struct conf_reader *reader, const config_setting_t *at, const char *child,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

#define CONF_VALUE_MAX 64

/* A setting's value, for messages; returns buf. */
const char *conf_value(const config_setting_t *at, char buf[CONF_VALUE_MAX]);

#endif
