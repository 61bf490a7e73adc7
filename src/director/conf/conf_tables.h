/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of forwarding tables together with director.conf. The director and `glb-director-cli check` call these
 * functions. Thread-safe. */
#pragma once

#include "director/conf/conf.h"
#include "table/table.h"

/* Adds an error for each family of backends without a source address. The director refuses such tables. */
void conf_tables_check(const struct conf *conf, const struct table_set *set, struct faults *faults);

/* Adds warnings if the tables do not fit the source addresses or outbound_mtu. */
void conf_tables_lint(const struct conf *conf, const struct table_set *set, struct faults *faults);
