/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The findings of a command that looks at a host, changes nothing, and says what is wrong and how to mend it. Its
 * checks add findings, and findings_print() prints them as text or as JSON. One thread.
 */
#ifndef GLB_PROGRAM_FINDINGS_H
#define GLB_PROGRAM_FINDINGS_H

#include <stdarg.h>
#include <stdbool.h>

#include <jansson.h>

#define FINDINGS_COMMAND_MAX 512

enum findings_level {
	FINDINGS_OK,
	FINDINGS_WARN, /* works, but not as well or as safely as it could, or only until something happens */
	FINDINGS_FAIL, /* loses or corrupts packets of clients */
};

struct findings {
	const char *check; /* name of the check that runs; set by the caller */
	json_t *items; /* objects with the keys check, level, object, text and command */
	unsigned counts[FINDINGS_FAIL + 1]; /* of items, by level */
};

void findings_open(struct findings *findings);
void findings_close(struct findings *findings);

/*
 * Add a finding. object: what it is about, "" for the host. command: what mends it; NULL: no command does, and the text
 * says what to do.
 */
void findings_add(struct findings *findings, enum findings_level level, const char *object, const char *command,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
void findings_vadd(struct findings *findings, enum findings_level level, const char *object, const char *command,
	const char *format, va_list args) __attribute__((format(printf, 5, 0)));

/* The exit code of a command that could not look: 1 always means warnings. */
#define FINDINGS_FAILED 2

/*
 * Prints the findings on stdout. json: an object with `key`, `version`, `result` and `findings`; otherwise lines for
 * people, and a last line with the numbers of failures and warnings of the `subject`. Returns the exit code: 0: ok, 1:
 * warnings, 2: failures, or stdout cannot be written.
 */
int findings_print(const struct findings *findings, const char *key, const char *subject, bool json);

#endif
