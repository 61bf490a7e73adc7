/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of director.conf about metrics. Only for conf.c. */
#ifndef GLB_DIRECTOR_CONF_METRICS_H
#define GLB_DIRECTOR_CONF_METRICS_H

#include "conf/conf_reader.h"
#include "director/conf/conf.h"

/* For `read` of a key. The field is a struct endpoint. */
void conf_read_metrics(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* The same for a struct statsd_config. */
void conf_read_statsd(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* 127.0.0.1 port 19520 */
struct endpoint conf_metrics_default(void);

#endif
