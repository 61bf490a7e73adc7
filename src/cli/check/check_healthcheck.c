/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/check/check_healthcheck.h"

#include "healthcheck/config/conf.h"

void check_healthcheck(const char *path, struct faults *faults)
{
	struct conf conf;

	if (conf_read_healthcheck(path, &conf, faults) == 0)
		conf_free(&conf);
}

unsigned check_healthcheck_keys_in(const char *text)
{
	return conf_count_keys(text, conf_healthcheck_keys);
}
