/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads any bytes as healthcheck.conf. A file that is refused has an error with a text. */
#include "healthcheck/config/conf.h"
#include "tests/fuzz/as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = {.file = "f"};
	struct conf conf;

	if ((conf_read_healthcheck(as_file(data, size), &conf, &faults) != 0) != (faults.errors > 0))
		abort();
	conf_free(&conf);
	faults_clear(&faults);
	return 0;
}
