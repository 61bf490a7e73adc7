/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of HTTP checks, and the reader of the groups `http` of healthcheck.conf. */
#ifndef GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H
#define GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H

#include <stdbool.h>

#include "healthcheck/config/status_set.h"

struct conf_http {
	struct status_set status; /* that pass */
	char *host; /* of the Host header and SNI; NULL: the proxy's address */
	char *body; /* text that the body must contain; NULL: any body passes */
	char *ca_file; /* of the trusted certificates; NULL: the system's */
	bool tls, verify;
};

struct config_setting_t; /* libconfig's */
struct conf_key;
struct conf_reader;

/* The defaults. */
void conf_http_init(struct conf_http *http);

/* Reads a group `http` into `field`, a struct conf_http. Keys that it does not set keep their values. */
void conf_http_read(
	struct conf_reader *reader, const struct config_setting_t *at, const struct conf_key *key, void *field);

void conf_http_free(struct conf_http *http);

#endif
