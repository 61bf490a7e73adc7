/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON tables and the faults that they must cause, written with ' instead of ". Include cmocka.h first. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/file/json/table_json.h"
#include "tests/unit/table_helpers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define KEYS                                                       \
	"'hash_key': '00112233445566778899aabbccddeeff', 'seed': " \
	"'FFeeddccbbaa99887766554433221100'"
#define BINDS            "'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80}]"
#define BACKENDS         "'backends': [{'ip': '192.168.0.1', 'state': 'active'}]"
#define TABLE(members)   "{'tables': [{'name': 'web', " members "}]}"
#define WITH(members)    TABLE(KEYS ", " BINDS ", " BACKENDS ", " members)
#define BIND(members)    TABLE(KEYS ", " BACKENDS ", 'binds': [{" members "}]")
#define BACKEND(members) TABLE(KEYS ", " BINDS ", 'backends': [{" members "}]")
#define CHECKS(members)  BACKEND("'ip': '192.168.0.1', 'state': 'active', 'healthchecks': {" members "}")

static inline int parse(const char *document, struct table_set *set, struct faults *faults)
{
	char *text = strdup(document);
	int error;

	for (char *at = text; *at; at++)
		if (*at == '\'')
			*at = '"';
	*faults = (struct faults){.file = "t.json"};
	error = table_json_parse(text, strlen(text), set, faults);
	free(text);
	return error;
}

/* Returns true if `text` is `expected` with a line and a column behind "t.json". */
static inline bool is_placed(const char *text, const char *expected)
{
	int line, column, size = 0;

	return sscanf(text, "t.json:%d:%d%n", &line, &column, &size) == 2 && line >= 1 && column >= 1 &&
	       strcmp(text + size, expected + strlen("t.json")) == 0;
}

/* Fails the test unless there is this fault, "t.json: PATH: ...", and it has a line and a column. */
static inline void assert_placed(const struct faults *faults, bool warning, const char *expected)
{
	for (size_t i = 0; i < faults->count; i++)
		if (faults->items[i].warning == warning && is_placed(faults->items[i].text, expected))
			return;
	print_faults(faults);
	fail_msg("no such %s with line and column: %s", warning ? "warning" : "error", expected);
}

static inline void assert_refused(const char *document, const char *expected)
{
	struct faults faults;
	struct table_set set;

	assert_int_equal(parse(document, &set, &faults), -EINVAL);
	assert_placed(&faults, false, expected);
	/* One mistake causes one error. */
	assert_int_equal(faults.errors, 1);
	assert_null(set.tables);
	faults_clear(&faults);
}

static inline void assert_warned(const char *document, const char *expected)
{
	struct faults faults;
	struct table_set set;

	assert_int_equal(parse(document, &set, &faults), 0);
	assert_placed(&faults, true, expected);
	assert_int_equal(faults.count, 1);
	table_set_free(&set);
	faults_clear(&faults);
}

struct example {
	const char *document, *fault;
};

static inline void check_examples(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_refused(examples[i].document, examples[i].fault);
}
