/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/facts_json.h"

#include <stdio.h>
#include <string.h>

static json_t *value_of(const struct fact *fact, const void *from)
{
	switch (fact->form) {
	case FACTS_BOOL:
		return json_boolean(facts_number(fact, from));
	case FACTS_REAL:
		return json_real(facts_real(fact, from));
	default:
		return json_integer((json_int_t)facts_number(fact, from));
	}
}

void facts_json(json_t *to, const struct fact *facts, const void *from)
{
	for (; facts->help; facts++) {
		const char *dot = facts->key ? strchr(facts->key, '.') : NULL;
		char object[32];

		if (dot) {
			snprintf(object, sizeof(object), "%.*s", (int)(dot - facts->key), facts->key);
			json_object_set_new(json_object_get(to, object), dot + 1, value_of(facts, from));
		} else if (facts->key) {
			json_object_set_new(to, facts->key, value_of(facts, from));
		}
	}
}
