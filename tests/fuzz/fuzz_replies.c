/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads any bytes as replies to programs: of a proxy to a grpc check, and a page of metrics in pieces. */
#include <stdlib.h>
#include <string.h>

#include "cli/fleet/samples.h"
#include "healthcheck/checks/grpc/grpc_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_metrics(const uint8_t *data, size_t size, size_t piece)
{
	static const char *const wanted[] = {"m", "glb_director_packets_total", NULL};
	struct samples samples = {.wanted = wanted};
	char value[SAMPLES_LABEL_MAX];
	const char *sample;
	size_t at = 0;

	for (size_t from = 0; from < size; from += piece)
		samples_feed(&samples, (const char *)data + from, size - from < piece ? size - from : piece);
	while ((sample = samples_next(&samples, wanted[0], &at))) {
		if (samples_label(sample, "l", value) && strlen(value) >= sizeof(value))
			abort();
		samples_value(sample);
	}
	samples_free(&samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t status;

	grpc_reply_read(data, size, &status);
	if (size)
		read_metrics(data + 1, size - 1, data[0] % 64 + 1u);
	return 0;
}
