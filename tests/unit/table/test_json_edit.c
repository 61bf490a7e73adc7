/* SPDX-License-Identifier: BSD-3-Clause */
/* An edit changes what it shall, and no other byte. What it adds looks like its neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "table/file/json/json_edit.h"
#include "tests/unit/table_helpers.h"

struct example {
	const char *before, *path, *after; /* with ' instead of " */
};

static char *quoted(const char *text)
{
	char *copy = strdup(text);

	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

static void assert_text(struct json_edit *edit, const char *expected)
{
	char *text = quoted(expected);
	json_t *json = json_loadb(edit->text, edit->size, JSON_REJECT_DUPLICATES, NULL);

	assert_string_equal(edit->text, text);
	assert_int_equal(edit->size, strlen(text));
	assert_non_null(json);
	json_decref(json);
	free(text);
	free(edit->text);
}

static struct json_edit edit_of(const char *before)
{
	char *text = quoted(before);

	return (struct json_edit){.text = text, .size = strlen(text)};
}

static void test_an_element_is_added_like_its_neighbours(void **state)
{
	static const struct example examples[] = {
		{"{'a': []}", "a", "{'a': [{ 'x': 1, 'y': 'z' }]}"},
		{"{'a': [ ]}", "a", "{'a': [{ 'x': 1, 'y': 'z' }]}"},
		{"{'a': [\n  ]}", "a", "{'a': [\n    { 'x': 1, 'y': 'z' }\n  ]}"},
		{"{'a': [{'x':0}]}", "a", "{'a': [{'x':0}, {'x':1, 'y':'z'}]}"},
		{"{'a':[{'x':0,'y':''},{'x':0,'y':''}]}", "a", "{'a':[{'x':0,'y':''},{'x':0,'y':''},{'x':1,'y':'z'}]}"},
		{"{'a': [\r\n\t{ 'x': 0, 'y': 0 }\r\n]}\r\n", "a",
			"{'a': [\r\n\t{ 'x': 0, 'y': 0 },\r\n\t{ 'x': 1, 'y': 'z' }\r\n]}\r\n"},
		{"{'a': [\n  {\n    'x' : 0,\n    'y' : 0\n  }\n], 'b': 1}", "a",
			"{'a': [\n  {\n    'x' : 0,\n    'y' : 0\n  },\n  {\n    'x' : 1,\n    'y' : 'z'\n  }\n], 'b': 1}"},
		{"{'a': [{ 'x': 0 }, 7]}", "a", "{'a': [{ 'x': 0 }, 7, { 'x': 1, 'y': 'z' }]}"},
		{"{'t': [{'b': [[{}]]}]}", "t[0].b[0]", "{'t': [{'b': [[{}, {'x': 1, 'y': 'z'}]]}]}"},
	};
	static const struct json_edit_member members[] = {{"x", "1"}, {"y", "\"z\""}};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct json_edit edit = edit_of(examples[i].before);

		assert_true(json_edit_append(&edit, examples[i].path, members, 2));
		assert_text(&edit, examples[i].after);
	}
}

static void test_a_value_is_removed_with_one_comma(void **state)
{
	static const struct example examples[] = {
		{"{'a': [1]}", "a[0]", "{'a': []}"},
		{"{'a': [ 1 ]}", "a[0]", "{'a': []}"},
		{"{'a': [1, 2, 3]}", "a[0]", "{'a': [2, 3]}"},
		{"{'a': [1, 2, 3]}", "a[1]", "{'a': [1, 3]}"},
		{"{'a': [1, 2, 3]}", "a[2]", "{'a': [1, 2]}"},
		{"{'a': [1 , 2 , 3]}", "a[1]", "{'a': [1 , 3]}"},
		{"{'a': [\n  1,\n  2,\n  3\n]}", "a[0]", "{'a': [\n  2,\n  3\n]}"},
		{"{'a': [\n  1,\n  2,\n  3\n]}", "a[1]", "{'a': [\n  1,\n  3\n]}"},
		{"{'a': [\n  1,\n  2,\n  3\n]}", "a[2]", "{'a': [\n  1,\n  2\n]}"},
		{"{'a': [\r\n  1\r\n]}", "a[0]", "{'a': []}"},
		{"{'a': [',', [1, {}], ',']}", "a[1]", "{'a': [',', ',']}"},
		{"{'a': 1, 'b': 2}", "a", "{'b': 2}"},
		{"{'a': 1, 'b': 2}", "b", "{'a': 1}"},
		{"{ 'a': {'b': 2} }", "a.b", "{ 'a': {} }"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct json_edit edit = edit_of(examples[i].before);

		assert_true(json_edit_remove(&edit, examples[i].path));
		assert_text(&edit, examples[i].after);
	}
}

static void test_a_member_is_set_or_added(void **state)
{
	static const struct example examples[] = {
		{"{'a': {'k' : 1 , 'l': 2}}", "a", "{'a': {'k' : 'v' , 'l': 2}}"},
		{"{'a': {'k': {'k': 1}, 'l': 2}}", "a", "{'a': {'k': 'v', 'l': 2}}"},
		{"{'a': {'x': 'k'}}", "a", "{'a': {'x': 'k', 'k': 'v'}}"},
		{"{'a': { 'x':1 }}", "a", "{'a': { 'x':1, 'k':'v' }}"},
		{"{'a': {}}", "a", "{'a': {'k': 'v'}}"},
		{"{\n  'a': 1\n}\n", "", "{\n  'a': 1,\n  'k': 'v'\n}\n"},
		{"{'a': {'x': 1, 'k\\'': 2, '\\\\': 3}}", "a", "{'a': {'x': 1, 'k\\'': 2, '\\\\': 3, 'k': 'v'}}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct json_edit edit = edit_of(examples[i].before);

		assert_true(json_edit_set(&edit, examples[i].path, "k", "\"v\""));
		assert_text(&edit, examples[i].after);
	}
}

static void test_what_is_not_there_changes_nothing(void **state)
{
	static const char text[] = "{'a': [1], 'b': {'c': 2}}";
	struct json_edit edit = edit_of(text);

	(void)state;
	assert_false(json_edit_remove(&edit, ""));
	assert_false(json_edit_remove(&edit, "c"));
	assert_false(json_edit_remove(&edit, "a[1]"));
	assert_false(json_edit_set(&edit, "a", "k", "1"));
	assert_false(json_edit_set(&edit, "b.c", "k", "1"));
	assert_false(json_edit_set(&edit, "c", "k", "1"));
	assert_false(json_edit_append(&edit, "b", NULL, 0));
	assert_null(json_edit_get(&edit, "b.d"));
	assert_text(&edit, text);
}

/* Adding and then removing the last element gives the old text. */
static void test_adding_and_removing_leaves_the_text_as_it_was(void **state)
{
	static const char *const texts[] = {"{'a': [{ 'x': 0 }]}", "{'a':[{'x':0},{'x':0}]}", "{'a': [\n{'x': 0}\n]\n}",
		"{'a': [\n\t{\n\t\t'x': 0\n\t}\n]}"};
	static const struct json_edit_member member = {"x", "{ \"y\": [1, 2] }"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct json_edit edit = edit_of(texts[i]);
		char path[16], *value;

		assert_true(json_edit_append(&edit, "a", &member, 1));
		snprintf(path, sizeof(path), "a[%d].x", i == 1 ? 2 : 1);
		value = json_edit_get(&edit, path);
		assert_string_equal(value, member.value);
		free(value);
		path[4] = '\0';
		assert_true(json_edit_remove(&edit, path));
		assert_text(&edit, texts[i]);
	}
}

/* Makes one random change below the array `a` of objects. */
static bool change(struct json_edit *edit, uint32_t kind, uint32_t at)
{
	static const struct json_edit_member members[] = {{"x", "[1, { \"z\": 2 }]"}, {"y", "\"]}\""}};
	char path[32];

	snprintf(path, sizeof(path), "a[%u].b[%u]", at / 4 % 3, at % 4);
	if (kind == 0)
		return json_edit_set(edit, path, "x", "{}");
	if (kind == 1)
		return json_edit_remove(edit, path);
	path[4] = '\0';
	if (kind == 2)
		return json_edit_set(edit, path, "y", "[1, 2]");
	snprintf(path, sizeof(path), "a[%u].b", at / 4 % 3);
	return kind == 3 ? json_edit_append(edit, path, members, 2) : json_edit_drop(edit, "a[1].y");
}

/* An edit that remembers places in the text gives the same text as one that searches it again. */
static void test_many_edits_give_the_text_of_edits_that_remember_nothing(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct json_edit kept = edit_of("{'a': [{'b': [ ]}, {'y':1, 'b':[{'x':0}, {'x':0}]}, {'b': [\n {}\n]}]}");
		struct json_edit fresh = {.text = strdup(kept.text), .size = kept.size};

		for (unsigned step = 0; step < 60; step++) {
			uint32_t kind = random_below(5), at = random_below(12);

			assert_int_equal(change(&kept, kind, at), change(&fresh, kind, at));
			assert_string_equal(kept.text, fresh.text);
			assert_int_equal(kept.size, strlen(kept.text));
			fresh = (struct json_edit){.text = fresh.text, .size = fresh.size};
		}
		free(kept.text);
		free(fresh.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_element_is_added_like_its_neighbours),
		cmocka_unit_test(test_a_value_is_removed_with_one_comma),
		cmocka_unit_test(test_a_member_is_set_or_added),
		cmocka_unit_test(test_what_is_not_there_changes_nothing),
		cmocka_unit_test(test_adding_and_removing_leaves_the_text_as_it_was),
		cmocka_unit_test(test_many_edits_give_the_text_of_edits_that_remember_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
