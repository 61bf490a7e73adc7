/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/check_kind.h"

#include <stddef.h>

const struct check_kind_facts check_kinds[CHECK_KIND_COUNT] = {
#define X(symbol, method, ...) {__VA_ARGS__},
	CHECK_KINDS(X)
#undef X
};
