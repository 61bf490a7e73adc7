/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/check/check_healthcheck.h"

#include "healthcheck/config/conf.h"

void check_healthcheck(const char *path, struct faults *faults)
{
	struct conf conf;

	if (conf_read_healthcheck(path, &conf, faults) == 0)
		conf_free(&conf);
}

void check_healthcheck_checksum(const char *path, bool of_director, struct faults *faults)
{
	struct faults known = {0};
	struct conf conf;

	if (conf_read_healthcheck(path, &conf, &known) == 0) {
		if (conf.outbound_udp_checksum != of_director)
			faults_warn(faults, "outbound_udp_checksum",
				"%s, but %s in director.conf: the network may treat checks of IPv6 proxies otherwise than packets; set both alike",
				conf.outbound_udp_checksum ? "true" : "false", of_director ? "true" : "false");
		conf_free(&conf);
	}
	faults_clear(&known);
}

unsigned check_healthcheck_keys_in(const char *text)
{
	return conf_count_keys(text, conf_healthcheck_keys);
}
