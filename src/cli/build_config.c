/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "common/byteorder.h"
#include "common/cpus.h"
#include "common/file/file.h"
#include "table/file/table_file.h"
#include "table/file/table_load.h"
#include "table/rows/table_build.h"

enum { FORMAT, FORCE, VERBOSE };

static const struct command_option options[] = {
	[FORMAT] = {"format", "2|3", "file version: 3 (default), or 2 for GLB's directors"},
	[FORCE] = {"force", NULL, "replace DST.bin even if it is not a binary table"},
	[VERBOSE] = {"verbose", NULL, "print version, size and digest of the written table"},
	{0},
};

static int build(const char *to, struct table_set *set, enum table_file_format format, bool verbose, struct faults *faults)
{
	const char *from = faults->file;
	uint8_t *bytes = NULL;
	size_t size;
	int error = table_build(set, cpus_usable());

	if (error == 0)
		error = table_file_encode(set, format, &bytes, &size, faults);
	if (error == 0) {
		faults->file = to;
		error = file_replace(to, from, bytes, size, faults);
	}
	if (error == 0 && verbose)
		command_print(2, "%s: version %" PRIu32 ", %zu bytes, digest %016" PRIx64, to, load_le32(bytes + 4),
			size, table_set_digest(set));
	if (error < 0 && faults->errors == 0)
		faults_error(faults, NULL, "%s", strerror(-error));
	free(bytes);
	return error;
}

/* `edited`: the user has seen the warnings about the JSON table. */
static int build_file(const char *from, const char *to, const char *format, bool force, bool verbose, bool edited)
{
	const struct output output = {to, OUTPUT_BINARY_TABLE, force, {from}};
	enum table_file_format version = format && strcmp(format, "2") == 0 ? TABLE_FILE_V2 : TABLE_FILE_V3;
	struct faults faults = {.file = from};
	struct table_set set;
	uint32_t replaced;
	int error;

	if (!output_is_safe(&output))
		return COMMAND_FAILED;
	replaced = table_load_version(to);
	error = table_load_json(from, &set, &faults);
	if (error == 0 && edited)
		faults_clear(&faults);
	if (error == 0)
		error = build(to, &set, version, verbose, &faults);
	if (error == 0 && replaced == 2 && !format)
		faults_warn(&faults, NULL,
			"was version 2 and is now version 3, which GLB's directors cannot read; for them use --format 2");
	table_set_free(&set);
	cli_print_faults(&faults, FAULTS_ALL);
	return error == 0 ? COMMAND_OK : COMMAND_FAILED;
}

int cli_build_config(const char *from, const char *to)
{
	return build_file(from, to, NULL, false, false, true);
}

static int build_config_run(const struct command_args *args)
{
	return build_file(args->operands[0], args->operands[1], args->options[FORMAT], args->options[FORCE],
		args->options[VERBOSE], false);
}

const struct command build_config_command = {
	.name = "build-config",
	.run = build_config_run,
	.operands = "SRC.json DST.bin",
	.summary = "Build a binary forwarding table from a JSON table",
	.options = options,
};
