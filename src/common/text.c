/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t text_character(const char *text, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *at = (const uint8_t *)text;
	size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	uint32_t rune = size == 1 ? at[0] : at[0] & (0x7fu >> size);

	if (size == 0 || size > left || at[0] >= 0xf8)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		rune = rune << 6 | (at[i] & 0x3f);
	}
	if (rune < least[size] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return 0;
	return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) ? 0 : size;
}

void text_mend(char *text)
{
	size_t left = strlen(text), size;

	for (; left > 0; text += size, left -= size) {
		size = text_character(text, left);
		if (size == 0) {
			*text = '?';
			size = 1;
		}
	}
}

char *text_without_token(char *text)
{
	char *token = strstr(text, " near '");

	if (token)
		explicit_bzero(token, strlen(token));
	return text;
}

bool text_take_number(const char **text, uint32_t min, uint32_t max, uint32_t *number)
{
	const char *at = *text;
	uint64_t value = 0;

	if (at[0] == '0' && at[1] >= '0' && at[1] <= '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (uint64_t)(*at - '0');
		if (value > max)
			return false;
	}
	if (at == *text || value < min)
		return false;
	*text = at;
	*number = (uint32_t)value;
	return true;
}

bool text_number(const char *text, uint32_t min, uint32_t max, uint32_t *number)
{
	uint32_t value;

	if (!text_take_number(&text, min, max, &value) || *text)
		return false;
	*number = value;
	return true;
}

char *text_hex64(uint64_t number, char buf[TEXT_HEX64])
{
	snprintf(buf, TEXT_HEX64, "%016" PRIx64, number);
	return buf;
}

char *text_hex(const uint8_t *bytes, size_t size, char *buf)
{
	*buf = '\0';
	for (size_t i = 0; i < size; i++)
		sprintf(buf + 2 * i, "%02x", bytes[i]);
	return buf;
}

bool text_thousandths(const char *text, uint32_t min, uint32_t max, uint32_t *value)
{
	uint32_t whole, part = 0;

	if (!text_take_number(&text, 0, max / 1000, &whole))
		return false;
	if (*text == '.') {
		uint32_t unit = 100;

		if (text[1] < '0' || text[1] > '9')
			return false;
		for (text++; *text >= '0' && *text <= '9' && unit > 0; text++, unit /= 10)
			part += unit * (uint32_t)(*text - '0');
	}
	whole = whole * 1000 + part;
	if (*text || whole < min || whole > max)
		return false;
	*value = whole;
	return true;
}

bool text_percent(const char *text, double *percent)
{
	const char *at = text;
	uint32_t whole;
	double value;

	if (!text_take_number(&at, 0, 100, &whole))
		return false;
	if (*at == '.') {
		size_t digits = strspn(at + 1, "0123456789");

		if (digits == 0)
			return false;
		at += 1 + digits;
	}
	value = strtod(text, NULL);
	if (*at || value > 100.0)
		return false;
	*percent = value;
	return true;
}

bool text_duration_ms(const char *text, int64_t max_ms, int64_t *ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
	uint32_t number;

	if (!text_take_number(&text, 0, UINT32_MAX, &number))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text, units[i].name) != 0 || number > max_ms / units[i].ms)
			continue;
		*ms = number * units[i].ms;
		return true;
	}
	return false;
}

bool text_duration(const char *text, uint32_t max_s, uint32_t *seconds)
{
	int64_t ms;

	if (!text_duration_ms(text, INT64_C(1000) * max_s, &ms) || ms == 0 || ms % 1000)
		return false;
	*seconds = (uint32_t)(ms / 1000);
	return true;
}

#define WORD_MAX 40 /* bytes of words that are compared */

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The number of letters to insert, to remove, to replace, or to exchange with the next one. */
static unsigned count_edits(const char *a, size_t a_size, const char *b, size_t b_size)
{
	unsigned rows[3][WORD_MAX + 1]; /* row i % 3 is about the first i letters of `a` */

	for (size_t i = 0; i <= a_size; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_size; j++) {
			if (i == 0) {
				row[j] = (unsigned)j;
				continue;
			}
			row[j] = min(min(row[j - 1], above[j]) + 1, above[j - 1] + !same_letter(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
				row[j] = min(row[j], higher[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

unsigned text_typos(const char *typed, const char *word)
{
	size_t size = strlen(typed), word_size = strlen(word);
	unsigned edits;

	if (size < 3 || size > WORD_MAX || word_size > WORD_MAX)
		return TEXT_OTHER_WORD;
	edits = count_edits(typed, size, word, word_size);
	if (edits > 2 && size >= 4 && size < word_size && strncmp(typed, word, size) == 0)
		return 2;
	return edits <= (word_size >= 8 ? 2 : 1) ? edits : TEXT_OTHER_WORD;
}

void text_guess(const char *typed, const char *word, const char **meant)
{
	if (text_typos(typed, word) < (*meant ? text_typos(typed, *meant) : TEXT_OTHER_WORD))
		*meant = word;
}

bool text_bytes(const char *text, uint8_t *bytes, size_t size)
{
	size_t digits = text ? strspn(text, "0123456789abcdefABCDEF") : 0;

	if (!digits || digits != 2 * size || text[digits])
		return false;
	for (size_t i = 0; i < size; i++) {
		char pair[] = {text[2 * i], text[2 * i + 1], '\0'};

		bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return true;
}

void text_list_add(struct text_list *list, const char *name)
{
	char *end = list->text + list->named;
	size_t room = sizeof(list->text) - list->named;

	if (list->count++ < TEXT_LIST_MAX)
		list->named += (size_t)snprintf(end, room, "%s%.255s", list->named ? ", " : "", name);
	else
		snprintf(end, room, " and %u more", list->count - TEXT_LIST_MAX);
}

char *text_end(FILE *stream, char **text)
{
	if (fclose(stream) == 0)
		return *text;
	free(*text);
	return NULL;
}
