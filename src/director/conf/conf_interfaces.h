/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of director.conf that name interfaces of the kernel. Only for conf.c. */
#ifndef GLB_DIRECTOR_CONF_INTERFACES_H
#define GLB_DIRECTOR_CONF_INTERFACES_H

#include "conf/conf_reader.h"
#include "director/conf/conf.h"

/* For `read` of a key. The field is a char[CONF_INTERFACE_SIZE]; of conf_read_port_interfaces() it is not used. */
void conf_read_interface(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_port_interfaces(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* Warns about keys that have no effect beside a fixed MAC. root: the whole file. */
void conf_check_interfaces(struct conf_reader *reader, const config_setting_t *root);

#endif
