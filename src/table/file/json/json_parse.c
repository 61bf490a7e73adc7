/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Without memory, jansson reports a syntax error that the text does not have, or drops a character of a string, such as
 * the last digit of an address. So its allocations are watched.
 */
#include "table/file/json/json_parse.h"

#include <pthread.h>
#include <stdlib.h>

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

json_t *json_parse(const char *text, size_t size, json_error_t *where, bool *out_of_memory)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_t *root;

	pthread_once(&once, watch);
	failed = false;
	root = json_loadb(text, size, JSON_REJECT_DUPLICATES, where);
	*out_of_memory = failed;
	if (!failed)
		return root;
	json_decref(root);
	return NULL;
}
