/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys flow_paths and lcores of director.conf, read into the reader's struct conf. Only conf.c uses this header. */
#pragma once

#include "conf/conf_reader.h"
#include "director/conf/conf.h"

/* The keys of a flow path and of an lcore, and the readers of the two keys. */
extern const struct conf_key conf_flow_path_keys[], conf_lcore_keys[];
void conf_read_flow_paths(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_lcores(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* Checks that lcores and flow_paths match. Both were read without errors. root: the whole file. */
void conf_check_lcores(struct conf_reader *reader, const config_setting_t *root);
