/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/table_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpus.h"
#include "common/file/file.h"
#include "table/file/table_file.h"
#include "table/file/table_file_layout.h"
#include "table/file/json/table_json.h"
#include "table/rows/table_build.h"

int table_load_text(const char *path, char **text, size_t *size, struct faults *faults)
{
	size_t max = table_load_version(path) ? TABLE_LOAD_MAX_BINARY : TABLE_LOAD_MAX_JSON;
	int error = file_read(path, "a table", max, text, size, faults);

	if (error || *size)
		return error;
	faults_error(faults, NULL, "is empty");
	free(*text);
	*text = NULL;
	return -EINVAL;
}

/* The text has secret keys. */
static void free_text(char *text, size_t size)
{
	explicit_bzero(text, size);
	free(text);
}

uint32_t table_load_version(const char *path)
{
	struct table_file_start start;
	size_t size;

	if (file_read_head(path, &start, sizeof(start), &size) < 0 || size != sizeof(start) ||
		memcmp(start.magic, TABLE_FILE_MAGIC, sizeof(start.magic)) != 0)
		return 0;
	return start.version;
}

int table_load_binary(const char *path, struct table_set *set, uint32_t *version, struct faults *faults)
{
	char *text;
	size_t size;
	int error = table_load_text(path, &text, &size, faults);

	*set = (struct table_set){0};
	if (error)
		return error;
	error = table_file_parse((const uint8_t *)text, size, set, version, faults);
	free_text(text, size);
	return error;
}

int table_load_json(const char *path, struct table_set *set, struct faults *faults)
{
	char *text;
	size_t size;
	int error = table_load_text(path, &text, &size, faults);

	*set = (struct table_set){0};
	if (error)
		return error;
	error = table_json_parse(text, size, set, faults);
	free_text(text, size);
	return error;
}

static int load_json(const char *text, size_t size, struct table_set *set, struct faults *faults)
{
	int error = table_json_parse(text, size, set, faults);

	if (error)
		return error;
	error = table_build(set, cpus_usable());
	if (error) {
		faults_error(faults, NULL, "cannot build the rows: %s", strerror(-error));
		table_set_free(set);
	}
	return error;
}

int table_load(const char *path, struct table_set *set, uint32_t *version, struct faults *faults)
{
	char *text;
	size_t size;
	int error = table_load_text(path, &text, &size, faults);

	*set = (struct table_set){0};
	if (error)
		return error;
	if (size >= 4 && memcmp(text, TABLE_FILE_MAGIC, 4) == 0) {
		error = table_file_parse((const uint8_t *)text, size, set, version, faults);
	} else {
		error = load_json(text, size, set, faults);
		if (!error && version)
			*version = 0;
	}
	free_text(text, size);
	return error;
}
