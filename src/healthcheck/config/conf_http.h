/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of HTTP checks, and the reader of the `http` groups in healthcheck.conf. */
#ifndef GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H
#define GLB_HEALTHCHECK_CONFIG_CONF_HTTP_H

#include <stdbool.h>

#include "healthcheck/config/status_set.h"

struct conf_http {
	/* The statuses that pass. */
	struct status_set status;
	/* Host header and SNI; NULL: the proxy's address. */
	char *host;
	/* Text that the body must contain; NULL: any body passes. */
	char *body;
	/* File with the trusted certificates; NULL: those that the system trusts. */
	char *ca_file;
	/* Use HTTPS, and check its certificate. */
	bool tls, verify;
};

struct config_setting_t; /* libconfig's */
struct conf_key;
struct conf_reader;

/* Sets the defaults. */
void conf_http_init(struct conf_http *http);

/* Reads a group `http` into `field`, which is a struct conf_http. Members whose keys are missing keep their values. */
void conf_http_read(
	struct conf_reader *reader, const struct config_setting_t *at, const struct conf_key *key, void *field);

void conf_http_free(struct conf_http *http);

#endif
