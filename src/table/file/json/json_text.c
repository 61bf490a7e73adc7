/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"

json_t *json_text(const char *text)
{
	json_t *json = json_string(text);
	char *mended;

	if (json)
		return json;
	mended = strdup(text);
	if (mended)
		text_mend(mended);
	json = json_string(mended);
	free(mended);
	return json;
}
