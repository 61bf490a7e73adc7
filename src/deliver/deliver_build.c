/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/file/file.h"
#include "deliver/deliver.h"
#include "table/file/table_file.h"
#include "table/file/table_load.h"

int deliver_build(const struct deliver *plan, char digest[DIRECTOR_DIGEST_SIZE])
{
	struct faults faults = {.file = plan->json};
	struct table_set set;
	uint8_t *bytes = NULL;
	size_t size;
	uint32_t replaced = table_load_version(plan->binary);
	int error = table_load(plan->json, &set, NULL, &faults);

	if (!error)
		error = table_file_encode(&set, TABLE_FILE_V3, &bytes, &size, &faults);
	snprintf(digest, DIRECTOR_DIGEST_SIZE, "%016" PRIx64, error ? 0 : table_set_digest(&set));
	faults.file = plan->binary;
	if (!error)
		error = file_replace(plan->binary, plan->rights, bytes, size, &faults);
	if (!error && replaced == 2)
		fprintf(stderr,
			"%s: was version 2 and is now version 3, which GLB's directors cannot read; for them use reload_command with glb-director-cli build-config --format 2\n",
			plan->binary);
	if (faults.errors)
		fprintf(stderr, "%s\n", faults_first_error(&faults));
	return error;
}
