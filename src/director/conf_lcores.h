/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys flow_paths and lcores of director.conf, read into the reader's struct conf. Only for
 * conf.c. */
#ifndef GLB_DIRECTOR_CONF_LCORES_H
#define GLB_DIRECTOR_CONF_LCORES_H

#include "conf/conf_reader.h"
#include "director/conf.h"

void conf_read_flow_paths(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_lcores(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* That lcores and flow_paths, both read without errors, fit together; root: of the file. */
void conf_check_lcores(struct conf_reader *reader, const config_setting_t *root);

#endif
