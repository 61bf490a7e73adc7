/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of director.conf that say which frames the director takes (packet/admission.h). `field`: struct
 * admission; of outbound_vlan its member. */
#pragma once

#include "conf/conf_reader.h"
#include "packet/admission.h"

void conf_read_accept_macs(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_accept_vlans(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);
void conf_read_outbound_vlan(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field);

/* Adds errors about keys that contradict each other. */
void conf_check_admission(struct conf_reader *reader, const config_setting_t *root, const struct admission *admission);
