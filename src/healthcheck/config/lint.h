/* SPDX-License-Identifier: BSD-3-Clause */
/* What src and the configuration say only together, and hardly anybody means. */
#ifndef GLB_HEALTHCHECK_CONFIG_LINT_H
#define GLB_HEALTHCHECK_CONFIG_LINT_H

#include "healthcheck/config/conf.h"
#include "table/file/table_document.h"

/* Adds warnings. */
void lint_src(const struct table_document *document, const struct conf *conf, struct faults *faults);

#endif
