/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON strings from text that may not be UTF-8: error messages, paths. */
#pragma once

#include <jansson.h>

/* Returns a new JSON string. If the text is not UTF-8, text_mend() replaces the wrong bytes. NULL: out of memory. */
json_t *json_text(const char *text);
