/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks over text in libconfig syntax, and explains its first syntax error, because libconfig says no more than
 * "syntax error". The text stays the caller's. Thread-safe. Only for the other files of this folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CONF_SYNTAX_DEPTH 16

enum conf_syntax_kind {
	CONF_SYNTAX_KEY,
	CONF_SYNTAX_VALUE, /* a word: a number, true, false or a mistake; not a string */
	CONF_SYNTAX_INCLUDE, /* @include and the rest of the line */
	CONF_SYNTAX_OTHER, /* a string, a bracket, a separator */
	CONF_SYNTAX_END,
};

struct conf_syntax {
	const char *at; /* the rest of the text */
	int line; /* of `at`, from 1 */
	/* The last item. */
	enum conf_syntax_kind kind;
	const char *item;
	size_t size;
	int item_line;
	/* "=" was read, and its value is next. */
	bool assigned;
	/* The file, then the open brackets. Brackets beyond the array are only counted. */
	unsigned depth;
	struct conf_syntax_level {
		const char *bracket, *key;
		size_t key_size;
		int line, elements;
	} levels[CONF_SYNTAX_DEPTH + 1];
};

/* Reads the next item. Start with {.at = text, .line = 1}. Returns false at the end of the text. */
bool conf_syntax_next(struct conf_syntax *syntax);

/* Writes "KEY: what is wrong, and what to write" for the first syntax error up to `line`, and returns its line. 0:
 * found none. */
int conf_syntax_explain(const char *text, int line, char *error, size_t size);

/* The same for a key in this line that its group has already. */
int conf_syntax_explain_duplicate(const char *text, int line, char *error, size_t size);
