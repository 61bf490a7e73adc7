/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine of commands that look at a host, change nothing, and say what is wrong and how to mend it. A command has a
 * list of checks. Above the code of a check stand the findings that it can add: only they have words for people. The
 * code decides, and passes the object and the values. One thread, and one command at a time, because the findings are
 * kept here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/faults.h"

enum findings_level {
	FINDINGS_OK,
	FINDINGS_WARN, /* works, but not as well or as safely as it could, or only until something happens */
	FINDINGS_FAIL, /* loses or corrupts packets of clients */
};

/* In both texts "{0}" stands for the object, and "{1}" to "{9}" for the values. */
struct finding {
	enum findings_level level;
	const char *command; /* mends it; NULL: no command does, and the text says what to do */
	const char *text;
};

/* Adds a finding of the check that runs. The object, "" for the host, and the values are texts. */
#define findings_add(finding, ...) findings_add_texts(finding, (const char *const[]){__VA_ARGS__, NULL})
void findings_add_texts(const struct finding *finding, const char *const texts[]);

/* Makes a value from a number. The last 16 results stay valid. */
const char *findings_value(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds that all is well with the object, or why nothing can be said about it. */
void findings_ok(const char *object, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds the faults of these kinds that were found in a file. command: mends an error; NULL: none does. */
void findings_add_faults(const struct faults *faults, enum faults_kinds kinds, const char *command);

/* Returns whether the check that runs has added nothing yet. */
bool findings_none(void);

/* Looks at the subject of a command, and adds what it finds. */
typedef void findings_look(void *subject);

struct findings_check {
	const char *name; /* NULL ends a list of checks */
	findings_look *run;
	bool (*applies)(const void *subject); /* NULL: always */
};

/* For a check that looks at several things under names of their own: what is added next has this name. */
void findings_begin(const char *name);

/* The exit code of a command that could not look: 1 always means warnings. */
#define FINDINGS_FAILED 2

/*
 * Runs the checks of the list, and prints what they have found on stdout. json: an object with `key`, `version`,
 * `result` and `findings`; otherwise lines for people, and a last line with the numbers of failures and warnings about
 * `name`. Returns the exit code: 0: ok, 1: warnings, 2: failures, or stdout cannot be written.
 */
int findings_run(const struct findings_check checks[], void *subject, const char *key, const char *name, bool json);
