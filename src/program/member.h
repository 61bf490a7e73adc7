/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of a JSON object that may be missing or have another type. */
#pragma once

#include <jansson.h>

/* Returns "" if there is no such text. */
static inline const char *member_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Returns 0 if there is no such number. */
static inline json_int_t member_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}
