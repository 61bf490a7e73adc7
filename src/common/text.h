/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks text that comes from outside: UTF-8 without control characters, and numbers. Pure, thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns the size in bytes of the character at `at`; the text ends after `left` bytes, at least 1. 0: the bytes are
 * not UTF-8 or not a whole character, or it is a control character. */
size_t text_character(const char *at, size_t left);

/* Replaces every byte that does not belong to a valid character by '?'. */
void text_mend(char *text);

/* Removes " near 'TOKEN'" from an error of jansson, because the token may be a part of a secret. Returns text. */
char *text_without_token(char *text);

/*
 * Parses a number from min to max. Every number that a user types goes through here: command lines, telemetry
 * parameters, text in configurations. It has decimal digits only, and no leading zero, because other programs read 010
 * as octal. False: *number is unchanged.
 */
bool text_number(const char *text, uint32_t min, uint32_t max, uint32_t *number);

/* The same for the number at the start of *text. Moves *text past its last digit; false: *text is unchanged. */
bool text_take_number(const char **text, uint32_t min, uint32_t max, uint32_t *number);

/*
 * Makes `word` *meant if `typed` is a typing error of it, and more like it than like *meant, which is NULL at first.
 * Call it with each word that could be meant.
 */
void text_guess(const char *typed, const char *word, const char **meant);

/*
 * Finds a typing error: `typed` is `word` except for the case, one letter (two if the word is long) that is missing,
 * too many, another one, or exchanged with its neighbour, or a missing end. Returns how different they are, 0 to 2, or
 * TEXT_OTHER_WORD.
 */
unsigned text_typos(const char *typed, const char *word);

#define TEXT_OTHER_WORD 3

/* A number that has a name, as text. */
#define TEXT_OF(number)      TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(value) #value

/* Returns the ending of a noun after this number: "1 table", "2 tables". */
static inline const char *text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#define TEXT_LIST_MAX 3

/* Names of things for a message: the first ones, and the number of the others. All zeros: none. */
struct text_list {
	char text[1024]; /* "web", or "web, shop, mail and 61 more" */
	unsigned count;
	size_t named; /* bytes of the text that are names */
};

void text_list_add(struct text_list *list, const char *name);

/* Ends the stream of open_memstream(). Returns its text, which the caller frees, or NULL: out of memory. */
char *text_end(FILE *stream, char **text);

#define TEXT_HEX64 17

/* Writes a digest or a key as 16 hex digits. Returns buf. */
char *text_hex64(uint64_t number, char buf[TEXT_HEX64]);

/* Writes 2 * `size` hex digits and a NUL. Returns buf. */
char *text_hex(const uint8_t *bytes, size_t size, char *buf);

/* Parses exactly 2 * `size` hex digits; NULL has none. False: the text is something else, and bytes[] is undefined. */
bool text_bytes(const char *text, uint8_t *bytes, size_t size);

/* Parses a number with at most 3 decimals, such as 1.02, in thousandths from min to max. False: *value is unchanged. */
bool text_thousandths(const char *text, uint32_t min, uint32_t max, uint32_t *value);

/* Parses a percentage from 0 to 100, such as "5" or "0.25". False: *percent is unchanged. */
bool text_percent(const char *text, double *percent);

/* Parses a duration from 0 to max_ms, such as "500ms", "90s", "10m", "2h" or "7d". False: *ms is unchanged. */
bool text_duration_ms(const char *text, int64_t max_ms, int64_t *ms);

/* The same from 1 second to max_s, in seconds. */
bool text_duration(const char *text, uint32_t max_s, uint32_t *seconds);
