/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of files that `check` knows. Constant data and pure functions, except for check_kind_of(), which reads a
 * file. */
#pragma once

enum check_kind {
	CHECK_JSON_TABLE,
	CHECK_BINARY_TABLE,
	CHECK_DIRECTOR_CONF,
	CHECK_HEALTHCHECK_CONF,
	CHECK_REDIRECT_CONF,
	CHECK_BIFURCATE_CONF,
	CHECK_FLEET_CONF,
	CHECK_ENVIRONMENT,
	CHECK_KINDS,
	CHECK_OTHER = CHECK_KINDS, /* the first bytes tell that the file is neither a table nor a configuration */
};

/* The words of --kind, in the same order. */
#define CHECK_KIND_WORDS "json|binary|director|healthcheck|redirect|bifurcate|fleet|environment"

/* The name for messages, for instance "JSON table". */
const char *check_kind_name(enum check_kind kind);

/*
 * Finds the kind of the file `path` by its content, or, if the content does not tell, by its `name`. What is in a
 * folder bifurcate.d configures a VF. A file that cannot be read is recognised by its name; the reader reports the
 * error.
 */
enum check_kind check_kind_of(const char *path, const char *name);

/* Says what a file of kind CHECK_OTHER is, and what to do with it. */
const char *check_kind_advice(const char *path);
