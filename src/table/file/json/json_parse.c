/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Without memory, jansson reports a syntax error that the text does not have, or drops a character of a string, such as
 * the last digit of an address. So its allocations are watched.
 */
#include "table/file/json/json_parse.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/file/json/json_reader.h"

static _Thread_local bool failed;

static void *watched_malloc(size_t size)
{
	void *memory = malloc(size);

	failed |= !memory;
	return memory;
}

static void watch(void)
{
	json_set_alloc_funcs(watched_malloc, free);
}

int json_parse(const char *text, size_t size, json_t **root, struct faults *faults)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char shown[JSON_READER_TEXT_MAX];
	json_error_t where;

	pthread_once(&once, watch);
	failed = false;
	*root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
	if (failed) {
		json_decref(*root);
		*root = NULL;
		faults_error(faults, NULL, "out of memory");
		return -ENOMEM;
	}
	if (*root)
		return 0;
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		faults_error(faults, NULL,
			"begins with a byte order mark, which JSON does not have: save it as UTF-8 without one");
	else
		faults_error_at(faults,
			&(struct faults_place){.line = where.line, .has_column = true, .column = where.column},
			"not JSON: %s", json_reader_text(where.text, 120, shown));
	return -EINVAL;
}
