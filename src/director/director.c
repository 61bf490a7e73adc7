/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/director.h"

#include "director/conf/conf_tables.h"
#include "program/log.h"

void director_lint_table(const struct director *director)
{
	struct faults faults = {.file = director->options.forwarding_table};

	conf_tables_lint(&director->conf, &director->shared.live->routes->set, &faults);
	log_faults(&faults, FAULTS_ALL);
}
