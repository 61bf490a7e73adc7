/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of random JSON documents are found where jansson read them, in any order, with their line and column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "table/file/json/json_locate.h"
#include "tests/unit/table_helpers.h"

#define MAX_TEXT (1 << 16)

#define DOCUMENTS CASES(3000)
#define DAMAGES   CASES(5000)

static char text[MAX_TEXT + 1024];
static size_t text_size;

static void put(const char *piece)
{
	text_size += (size_t)sprintf(text + text_size, "%s", piece);
}

static void put_space(void)
{
	static const char *const spaces[] = {"", "", " ", "\n", "\r\n", "\t", "  \n\n\t "};

	put(spaces[random_below(7)]);
}

/* Strings that look like other parts of JSON, with characters of several bytes and with all escapes. */
static void put_string(void)
{
	static const char *const pieces[] = {"a", "tables", "[0]", ".", "{", "}", "]", ",", ":", "\\\"", "\\\\", "\\/",
		"\\b", "\\f", "\\n", "\\r", "\\t", "\\u0041", "\\u00e4", "\\u20AC", "\\ud83d\\ude00", "\xc3\xa4",
		"\xe2\x82\xac", "\xf0\x9f\x98\x80", "x", "\\\\\\\"", " ", "//", "\x7f"};

	put("\"");
	for (uint32_t i = random_below(5); i > 0; i--)
		put(pieces[random_below(sizeof(pieces) / sizeof(pieces[0]))]);
	put("\"");
}

static void put_value(unsigned depth);

static void put_container(unsigned depth, const char *open, const char *close)
{
	uint32_t count = random_below(6);

	put(open);
	for (uint32_t i = 0; i < count && text_size < MAX_TEXT / 2; i++) {
		put(i ? "," : "");
		put_space();
		if (*open == '{') {
			put_string();
			put_space();
			put(":");
			put_space();
		}
		put_value(depth + 1);
		put_space();
	}
	put_space();
	put(close);
}

static void put_value(unsigned depth)
{
	static const char *const words[] = {"true", "false", "null", "0", "-1", "12", "-0.5e+3", "1E9"};
	uint32_t choice = random_below(depth < 2 ? 4 : depth < JSON_LOCATE_STEPS ? 8 : 4);

	if (depth == JSON_LOCATE_STEPS)
		choice += 4;
	if (choice < 2)
		put_container(depth, "{", "}");
	else if (choice < 4)
		put_container(depth, "[", "]");
	else if (choice < 6)
		put_string();
	else
		put(words[random_below(8)]);
}

static json_t *random_document(void)
{
	json_error_t error;
	json_t *root;

	do { /* until there are no duplicate keys */
		text_size = 0;
		put_space();
		put_container(0, random_below(2) ? "{" : "[", "");
		put(text[strspn(text, " \t\r\n")] == '{' ? "}" : "]");
		put_space();
		root = json_loadb(text, text_size, JSON_REJECT_DUPLICATES, &error);
		if (!root && !strstr(error.text, "duplicate"))
			fail_msg("%s: %s", error.text, text);
	} while (!root);
	return root;
}

static void assert_position(const struct json_position *position)
{
	int line = 1, column = 1;

	for (size_t i = 0; i < position->at; i++) {
		line += text[i] == '\n';
		column = text[i] == '\n' ? 1 : column + (((unsigned char)text[i + 1] & 0xc0) != 0x80);
	}
	assert_int_equal(position->line, line);
	assert_int_equal(position->column, column);
}

static void assert_span(const struct json_span *span, const json_t *value, const char *key)
{
	json_error_t error;
	json_t *there = json_loadb(
		text + span->value.at, span->end - span->value.at, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);

	if (!there || !json_equal(there, value))
		fail_msg("%s: %.*s", error.text, (int)(span->end - span->value.at), text + span->value.at);
	json_decref(there);
	assert_false(strchr(" \t\r\n", text[span->value.at]) || strchr(" \t\r\n", text[span->end - 1]));
	assert_position(&span->value);
	assert_position(&span->key);
	if (!key) {
		assert_int_equal(span->key.at, span->value.at);
		return;
	}
	there = json_loadb(
		text + span->key.at, span->value.at - span->key.at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
	assert_string_equal(json_string_value(there), key);
	json_decref(there);
}

static size_t located;

/* The first and the last child are those with these indices. */
static void assert_children(struct json_locate *locate, struct json_step *steps, size_t count, size_t size)
{
	struct json_span span, first, last;

	json_locate(locate, steps, count, &span);
	assert_int_equal(json_locate_children(locate, &span, &first, &last), size);
	for (size_t i = 0; size && i < 2; i++) {
		steps[count] = (struct json_step){.index = i ? size - 1 : 0};
		assert_int_equal(json_locate(locate, steps, count + 1, &span), count + 1);
		assert_int_equal(span.key.at, (i ? &last : &first)->key.at);
		assert_int_equal(span.value.at, (i ? &last : &first)->value.at);
		assert_int_equal(span.end, (i ? &last : &first)->end);
	}
}

/* Locates the value at the path, and below it a random half of its children in a random direction. */
static void locate_all(struct json_locate *locate, const json_t *value, struct json_step *steps, size_t count)
{
	struct json_locate fresh = {.text = text, .size = text_size};
	const char *key = count ? steps[count - 1].key : NULL;
	bool backwards = random_below(4) == 0;
	struct json_span span;
	size_t index = 0, size = json_array_size(value), member = 0;
	json_t *child;

	assert_int_equal(json_locate(locate, steps, count, &span), count);
	assert_span(&span, value, key);
	if (random_below(8) == 0) {
		assert_int_equal(json_locate(&fresh, steps, count, &span), count);
		assert_span(&span, value, key);
	}
	located++;
	if (count == JSON_LOCATE_STEPS)
		return;
	json_object_foreach((json_t *)value, key, child)
	{
		steps[count] = (struct json_step){.index = member++};
		if (random_below(4) == 0) {
			assert_int_equal(json_locate(locate, steps, count + 1, &span), count + 1);
			assert_span(&span, child, key);
		}
		steps[count] = (struct json_step){.key = key};
		if (random_below(2))
			locate_all(locate, child, steps, count + 1);
	}
	for (; index < size; index++) {
		if (random_below(2))
			continue;
		steps[count] = (struct json_step){.index = backwards ? size - 1 - index : index};
		locate_all(locate, json_array_get(value, steps[count].index), steps, count + 1);
	}
	assert_children(locate, steps, count, json_array_size(value) + json_object_size(value));
	/* A missing child: the span is that of the value. */
	size += json_object_size(value);
	steps[count] = random_below(2) ? (struct json_step){.key = "missing"} : (struct json_step){.index = size};
	assert_int_equal(json_locate(locate, steps, count + 1, &span), count);
	assert_span(&span, value, count ? steps[count - 1].key : NULL);
}

static void test_values_of_random_documents_are_found(void **state)
{
	(void)state;
	for (int i = 0; i < DOCUMENTS; i++) {
		struct json_step steps[JSON_LOCATE_STEPS + 1];
		json_t *root = random_document();
		struct json_locate locate = {.text = text, .size = text_size};

		for (int pass = 0; pass < 2; pass++)
			locate_all(&locate, root, steps, 0);
		json_decref(root);
	}
	assert_true(located > 10 * DOCUMENTS / 3);
}

static void test_paths_of_messages_are_found(void **state)
{
	static const struct {
		const char *path;
		bool found;
		const char *value;
	} examples[] = {
		{"", true, "{\"tables\": [{\"ip\": 1}, {\"checks\": {\"http\": 80}}]}"},
		{"tables", true, "[{\"ip\": 1}, {\"checks\": {\"http\": 80}}]"},
		{"tables[0].ip", true, "1"},
		{"tables[1].checks.http", true, "80"},
		{"tables[1].ip", false, "{\"checks\": {\"http\": 80}}"},
		{"tables[2]", false, "[{\"ip\": 1}, {\"checks\": {\"http\": 80}}]"},
		{"tables.ip", false, "[{\"ip\": 1}, {\"checks\": {\"http\": 80}}]"},
		{"[0]", true, "[{\"ip\": 1}, {\"checks\": {\"http\": 80}}]"},
		{"[0][1].checks[0]", true, "80"},
		{"[1]", false, "{\"tables\": [{\"ip\": 1}, {\"checks\": {\"http\": 80}}]}"},
	};
	const char *document = examples[0].value;

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct json_locate locate = {.text = document, .size = strlen(document)};
		struct json_span span;

		assert_int_equal(json_locate_path(&locate, examples[i].path, &span), examples[i].found);
		assert_int_equal(span.end - span.value.at, strlen(examples[i].value));
		assert_memory_equal(document + span.value.at, examples[i].value, strlen(examples[i].value));
	}
}

/* jansson allows 2048 levels; the locator has no recursion. */
static void test_deep_values_are_skipped(void **state)
{
	const char *path[] = {"deep", "after"};
	struct json_locate locate = {.text = text};
	struct json_span span;

	(void)state;
	text_size = 0;
	put("{\"deep\":");
	for (int i = 0; i < 2000; i++)
		put("[");
	for (int i = 0; i < 2000; i++)
		put("]");
	put(",\"after\":7}");
	locate.size = text_size;
	for (size_t i = 0; i < 2; i++)
		assert_true(json_locate_path(&locate, path[i], &span));
	assert_int_equal(span.end - span.value.at, 1);
	assert_int_equal(text[span.value.at], '7');
	assert_int_equal(span.value.column, 8 + 4000 + 1 + 8 + 1);
}

/* Text that is not JSON gives a wrong result, but no access outside of it. The sanitizers look. */
static void test_cut_and_damaged_text_is_not_read_beyond_its_end(void **state)
{
	(void)state;
	for (int i = 0; i < DAMAGES; i++) {
		struct json_step steps[2] = {{.key = random_below(2) ? "a" : NULL, .index = random_below(4)}};
		struct json_span span, first = {0}, last = {0};
		struct json_locate locate = {0};
		char *copy;

		if (i % 100 == 0)
			json_decref(random_document());
		locate.size = random_below((uint32_t)text_size + 1);
		locate.text = copy = malloc(locate.size + 1);
		memcpy(copy, text, locate.size);
		copy[locate.size] = '\xff'; /* the locator may not stop at a NUL only */
		for (uint32_t n = random_below(8); n > 0 && locate.size; n--)
			copy[random_below((uint32_t)locate.size)] = "[]{}\",:\\u\0"[random_below(10)];
		steps[1] = steps[0];
		json_locate(&locate, steps, 2, &span);
		assert_true(span.value.at <= span.end && span.end <= locate.size);
		json_locate_children(&locate, &span, &first, &last);
		assert_true(first.end <= last.end && last.end <= locate.size);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_random_documents_are_found),
		cmocka_unit_test(test_paths_of_messages_are_found),
		cmocka_unit_test(test_deep_values_are_skipped),
		cmocka_unit_test(test_cut_and_damaged_text_is_not_read_beyond_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
