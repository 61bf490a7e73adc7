/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/monitor/guard.h"

#include <errno.h>
#include <unistd.h>

#include "program/log.h"
#include "table/file/table_load.h"

bool guard_allows(const struct table_set *old, const struct table_set *new, const struct conf *conf,
	struct faults *faults, char loss[TABLE_GUARD_TEXT_MAX])
{
	struct table_guard guard = {.old = old, .new = new, .max_shrink = conf->max_shrink};

	if (table_guard_allows(&guard, faults))
		return true;
	table_guard_refusal(&guard, faults, loss);
	return false;
}

void guard_read_dst(const struct conf *conf, struct table_set *set)
{
	struct faults faults = {.file = conf->dst};

	*set = (struct table_set){0};
	if (access(conf->dst, F_OK) < 0 && errno == ENOENT)
		return;
	if (table_load_json(conf->dst, set, &faults))
		log_warning("src is not compared with dst: %s", faults_first_error(&faults));
	faults_clear(&faults);
}
