/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads any bytes as a script of `glb-director-cli simulate`. A script that is refused has an error with a text. */
#include <stdlib.h>
#include <string.h>

#include "cli/simulate/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = {.file = "f"};
	struct script script = {0};
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (script_parse(&script, text, &faults) != (faults.errors == 0))
		abort();
	script_free(&script);
	faults_clear(&faults);
	free(text);
	return 0;
}
