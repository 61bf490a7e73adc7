/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf_syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLANKS       " \t\r\n\f"
#define WORD_ENDS    BLANKS ";,=(){}[]\"#"
#define SHOWN_MAX    48 /* characters of a wrong word */
#define SHOWN_SECRET 8 /* of one that may be a secret key */
#define REMEDY_MAX   96

static struct conf_syntax_level *level_of(struct conf_syntax *syntax)
{
	return &syntax->levels[syntax->depth < CONF_SYNTAX_DEPTH ? syntax->depth : CONF_SYNTAX_DEPTH];
}

static bool in_list(struct conf_syntax *syntax)
{
	const char *bracket = level_of(syntax)->bracket;

	return bracket && *bracket != '{';
}

/* Returns the end of the comment at `at`; `at` itself if none begins there. */
static const char *skip_comment(const char *at)
{
	const char *end;

	if (*at == '#' || (at[0] == '/' && at[1] == '/'))
		return at + strcspn(at, "\n");
	if (at[0] != '/' || at[1] != '*')
		return at;
	end = strstr(at + 2, "*/");
	return end ? end + 2 : at + strlen(at);
}

static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

/* Words in single quotes are a mistake, but one that can be named. */
static const char *skip_value(const char *at)
{
	const char *end = *at == '\'' ? strpbrk(at + 1, "'\n") : NULL;

	return end && *end == '\'' ? end + 1 : at + strcspn(at, WORD_ENDS);
}

static void move(struct conf_syntax *syntax, const char *to)
{
	for (; syntax->at < to; syntax->at++)
		syntax->line += *syntax->at == '\n';
}

static void skip_blanks(struct conf_syntax *syntax)
{
	const char *end;

	do {
		end = skip_comment(syntax->at + strspn(syntax->at, BLANKS));
		if (end == syntax->at)
			return;
		move(syntax, end);
	} while (*end);
}

static void open_bracket(struct conf_syntax *syntax)
{
	syntax->depth++;
	if (syntax->depth < CONF_SYNTAX_DEPTH)
		*level_of(syntax) = (struct conf_syntax_level){.bracket = syntax->item, .line = syntax->item_line};
}

static void take_mark(struct conf_syntax *syntax)
{
	struct conf_syntax_level *level = level_of(syntax);

	syntax->assigned = *syntax->item == '=' || *syntax->item == ':';
	if (strchr("{([", *syntax->item))
		open_bracket(syntax);
	else if (strchr("})]", *syntax->item) && syntax->depth)
		syntax->depth--;
	else if (*syntax->item == ',')
		level->elements++;
}

bool conf_syntax_next(struct conf_syntax *syntax)
{
	const char *end;

	skip_blanks(syntax);
	syntax->item = end = syntax->at;
	syntax->item_line = syntax->line;
	syntax->kind = CONF_SYNTAX_OTHER;
	if (*end == '\0') {
		syntax->kind = CONF_SYNTAX_END;
	} else if (*end == '"') {
		end = skip_string(end);
		syntax->assigned = false;
	} else if (*end == '@') {
		syntax->kind = CONF_SYNTAX_INCLUDE;
		end += strcspn(end, "\n");
	} else if (strchr(";,=(){}[]", *end) || (*end == ':' && !syntax->assigned)) {
		take_mark(syntax);
		end++;
	} else if (syntax->assigned || in_list(syntax)) {
		syntax->kind = CONF_SYNTAX_VALUE;
		end = skip_value(end);
		syntax->assigned = false;
	} else {
		syntax->kind = CONF_SYNTAX_KEY;
		end += strcspn(end, WORD_ENDS ":");
		level_of(syntax)->key = syntax->item;
		level_of(syntax)->key_size = (size_t)(end - syntax->item);
	}
	move(syntax, end);
	syntax->size = (size_t)(end - syntax->item);
	return syntax->kind != CONF_SYNTAX_END;
}

/* Writes the path of the last key: "lcores.lcore-1.flow_paths[0]". Returns its length. */
static size_t write_path(const struct conf_syntax *syntax, char *path, size_t size)
{
	size_t length = 0;

	path[0] = '\0';
	for (unsigned i = 0; i <= syntax->depth && i < CONF_SYNTAX_DEPTH && length < size; i++) {
		const struct conf_syntax_level *level = &syntax->levels[i];
		const char *dot = i && level->key ? "." : "";

		if (level->bracket && *level->bracket != '{')
			length += (size_t)snprintf(path + length, size - length, "[%d]", level->elements);
		else if (level->key)
			length += (size_t)snprintf(
				path + length, size - length, "%s%.*s", dot, (int)level->key_size, level->key);
	}
	return length < size ? length : size - 1;
}

/* True for true, false, integers and real numbers. */
static bool is_scalar(const char *word, size_t size)
{
	static const char digits[] = "0123456789";
	const char *at = word + (*word == '+' || *word == '-'), *end = word + size, *start = at;
	size_t whole, part = 0;

	if ((size == 4 && strncasecmp(word, "true", 4) == 0) || (size == 5 && strncasecmp(word, "false", 5) == 0))
		return true;
	if (size > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X'))
		return at + 2 + strspn(at + 2, "0123456789abcdefABCDEFL") == end;
	at += whole = strspn(at, digits);
	if (whole && at < end && *at == 'L')
		return at + strspn(at, "L") == end;
	if (at < end && *at == '.') {
		part = strspn(at + 1, digits);
		at += 1 + part;
	}
	if (at < end && at > start && (*at == 'e' || *at == 'E')) {
		at += 1 + (at[1] == '+' || at[1] == '-');
		at += strspn(at, digits);
	}
	return whole + part > 0 && at == end;
}

/* Returns how many characters of a wrong word are shown: few if it may be a secret key, which has 32 hex digits, or the
 * value of a header. */
static int shown(const struct conf_syntax *syntax, const char *word, size_t size)
{
	size_t most = SHOWN_MAX;

	for (unsigned i = 0; i <= syntax->depth && i <= CONF_SYNTAX_DEPTH; i++)
		if (syntax->levels[i].key_size == 7 && memcmp(syntax->levels[i].key, "headers", 7) == 0)
			most = SHOWN_SECRET;
	for (size_t i = 0, digits = 0; i < size; i++) {
		digits = isxdigit((unsigned char)word[i]) ? digits + 1 : 0;
		if (digits == 2 * SHOWN_SECRET)
			most = SHOWN_SECRET;
	}
	return (int)(size < most ? size : most);
}

/* Removes quotes that libconfig does not know: ' and the typographic ones of word processors and web pages. */
static void strip_quotes(const char **word, size_t *size)
{
	static const char *const quotes[] = {"'", "\u201c", "\u201d", "\u201e", "\u2018", "\u2019"};

	for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
		size_t length = strlen(quotes[i]);

		if (*size >= length && memcmp(*word, quotes[i], length) == 0) {
			*word += length;
			*size -= length;
		}
		if (*size >= length && memcmp(*word + *size - length, quotes[i], length) == 0)
			*size -= length;
	}
}

/* Says what to write instead of the word. */
static const char *remedy(const struct conf_syntax *syntax, const char *word, size_t size, char buf[REMEDY_MAX])
{
	static const struct {
		const char *word, *instead;
	} words[] = {{"yes", "true"}, {"on", "true"}, {"no", "false"}, {"off", "false"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == size && strncasecmp(words[i].word, word, size) == 0)
			return words[i].instead;
	strip_quotes(&word, &size);
	snprintf(buf, REMEDY_MAX, "\"%.*s\"", shown(syntax, word, size), word);
	return buf;
}

/* An error, in a buffer of the caller. */
struct error {
	char *text;
	size_t size;
};

/* Each of these returns the line of an error in the last item; 0: there is none. */

static int explain_value(const struct conf_syntax *syntax, struct error error)
{
	struct conf_syntax after = *syntax;
	char instead[REMEDY_MAX];
	size_t length;

	if (is_scalar(syntax->item, syntax->size))
		return 0;
	length = write_path(syntax, error.text, error.size);
	conf_syntax_next(&after);
	if (after.assigned)
		snprintf(error.text + length, error.size - length,
			": '%.*s =' cannot be in a list; write a group with { and }",
			shown(syntax, syntax->item, syntax->size), syntax->item);
	else
		snprintf(error.text + length, error.size - length,
			": '%.*s' is not a number, true, false, or text in double quotes; write %s",
			shown(syntax, syntax->item, syntax->size), syntax->item,
			remedy(syntax, syntax->item, syntax->size, instead));
	return syntax->item_line;
}

static int explain_key(const struct conf_syntax *syntax, struct error error)
{
	struct conf_syntax after = *syntax;
	size_t length;

	conf_syntax_next(&after);
	if (after.assigned || !isalpha((unsigned char)*syntax->item))
		return 0;
	length = write_path(syntax, error.text, error.size);
	snprintf(error.text + length, error.size - length, ": '=' is missing after this name");
	return syntax->item_line;
}

/* A text with a line break is legal, but nobody means it. */
static int explain_string(const struct conf_syntax *syntax, struct error error)
{
	const char *line_end = memchr(syntax->item, '\n', syntax->size);
	size_t length;

	if (!line_end && *syntax->at)
		return 0;
	length = write_path(syntax, error.text, error.size);
	snprintf(error.text + length, error.size - length, ": the text that begins with %.*s has no closing quote",
		shown(syntax, syntax->item, line_end ? (size_t)(line_end - syntax->item) : syntax->size), syntax->item);
	return syntax->item_line;
}

static int explain_end(const struct conf_syntax *syntax, struct error error)
{
	const struct conf_syntax_level *level = &syntax->levels[syntax->depth];

	if (syntax->depth == 0)
		return 0;
	snprintf(error.text, error.size, "the '%c' is not closed", *level->bracket);
	return level->line;
}

int conf_syntax_explain(const char *text, int line, char *buf, size_t size)
{
	struct conf_syntax syntax = {.at = text, .line = 1};
	struct error error = {buf, size};

	for (;;) {
		bool value = syntax.assigned || in_list(&syntax);
		int found = 0;

		conf_syntax_next(&syntax);
		if (syntax.kind == CONF_SYNTAX_END)
			return explain_end(&syntax, error);
		if (syntax.item_line > line || syntax.depth >= CONF_SYNTAX_DEPTH ||
			(!value && strchr("({[", *syntax.item)))
			return 0;
		if (syntax.kind == CONF_SYNTAX_VALUE)
			found = explain_value(&syntax, error);
		else if (syntax.kind == CONF_SYNTAX_KEY)
			found = explain_key(&syntax, error);
		else if (*syntax.item == '"')
			found = explain_string(&syntax, error);
		if (found)
			return found;
	}
}

/* Returns the line of the first key in this group that has the name of the last item; 0: the item is the first one. */
static int first_line(const struct conf_syntax *syntax, const char *text)
{
	const struct conf_syntax_level *level = &syntax->levels[syntax->depth];
	struct conf_syntax group = {.at = text, .line = 1};

	if (syntax->depth)
		group = (struct conf_syntax){.at = level->bracket + 1, .line = level->line};
	while (conf_syntax_next(&group) && group.item < syntax->item)
		if (group.kind == CONF_SYNTAX_KEY && group.depth == 0 && group.size == syntax->size &&
			memcmp(group.item, syntax->item, group.size) == 0)
			return group.item_line;
	return 0;
}

int conf_syntax_explain_duplicate(const char *text, int line, char *error, size_t size)
{
	struct conf_syntax syntax = {.at = text, .line = 1};

	while (conf_syntax_next(&syntax) && syntax.item_line <= line && syntax.depth < CONF_SYNTAX_DEPTH) {
		int first = syntax.kind == CONF_SYNTAX_KEY && syntax.item_line == line ? first_line(&syntax, text) : 0;
		size_t length;

		if (!first)
			continue;
		length = write_path(&syntax, error, size);
		snprintf(error + length, size - length, ": given twice, first in line %d; remove one", first);
		return line;
	}
	return 0;
}
