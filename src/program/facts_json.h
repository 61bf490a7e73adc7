/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts as members of a JSON object. Any thread. */
#pragma once

#include <jansson.h>

#include "program/facts.h"

/* Adds each number of the table that has a key to the object. The key "src.loads" is the member `loads` of the object
 * `src`, which must exist. */
void facts_json(json_t *to, const struct fact *facts, const void *from);
