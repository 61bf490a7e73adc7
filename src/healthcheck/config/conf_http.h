/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys http and tables of healthcheck.conf. Only for conf.c. */
#ifndef GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H
#define GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H

#include "conf/conf_reader.h"
#include "healthcheck/config/conf.h"

void conf_http_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* Each table starts from the http group of the file, wherever in the file that is. */
void conf_http_read_tables(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

void conf_http_free(struct conf_http *http);

#endif
