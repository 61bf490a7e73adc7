/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds settings in src and healthcheck.conf that are valid alone, but probably a mistake together. */
#pragma once

#include "healthcheck/config/conf.h"
#include "table/file/table_document.h"

/* Adds a warning to `faults` for each one. */
void lint_src(const struct table_document *document, const struct conf *conf, struct faults *faults);
