/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs set and balance. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit/bind_operand.h"
#include "cli/edit/edit.h"
#include "common/text.h"
#include "table/file/json/json_text.h"
#include "table/file/json/table_json_members.h"

/* An object whose members are set: those of itself, and those of its `healthchecks`. */
struct target {
	const char *what;
	const struct json_member *members, *checks;
};

static const struct target backend = {"backend", table_json_backend, table_json_checks};
static const struct target table = {"table", table_json_table, table_json_defaults};
static const struct json_member no_checks[] = {{0}};
static const struct target bind_target = {"bind", table_json_bind, no_checks};
static const struct target quic = {"QUIC configuration", table_json_quic, no_checks};

#define KEYS_TEXT_MAX 512

/* Writes "state, healthy, weight". Returns buf. */
static const char *keys_text(const struct target *target, char buf[KEYS_TEXT_MAX])
{
	const struct json_member *const lists[] = {target->members, target->checks};
	size_t used = 0;

	for (size_t i = 0; i < 2; i++)
		for (const struct json_member *member = lists[i]; member->name; member++)
			if (member->set)
				used += (size_t)snprintf(
					buf + used, KEYS_TEXT_MAX - used, "%s%s", used ? ", " : "", member->name);
	return buf;
}

void edit_print_keys(void)
{
	static const struct target *const targets[] = {&backend, &table, &bind_target, &quic};
	char text[KEYS_TEXT_MAX];

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		command_print(2, "KEYs of a %s: %s", targets[i]->what, keys_text(targets[i], text));
}

/* Returns the member that KEY=VALUE sets, or NULL. Sets *in_checks if it is one of `healthchecks`. */
static const struct json_member *find_key(const struct target *target, const char *operand, bool *in_checks)
{
	size_t size = strcspn(operand, "=");
	const struct json_member *member = json_member_find(target->members, operand, size);

	*in_checks = !member;
	if (!member)
		member = json_member_find(target->checks, operand, size);
	return member && member->set ? member : NULL;
}

/* Returns whether operands before the first KEY=VALUE are binds, and not addresses of backends. */
static bool are_binds(const char *first)
{
	struct table_bind parsed;

	return bind_operand_parse(first, &parsed);
}

/* Returns the number of operands before the first KEY=VALUE: the backends or binds. */
static int count_addresses(char **operands, int count)
{
	int addresses = 0;

	while (addresses < count && !strchr(operands[addresses], '='))
		addresses++;
	return addresses;
}

/* Does not print values: a key is secret. */
static int check_keys(const char *verb, const struct target *target, char **operands, int count)
{
	char known[KEYS_TEXT_MAX];
	bool in_checks;

	for (int i = 0; i < count; i++)
		if (!strchr(operands[i], '='))
			return command_usage("edit: %s: '%s' is not KEY=VALUE; give addresses first", verb, operands[i]);
	for (int i = 0; i < count; i++)
		if (!find_key(target, operands[i], &in_checks))
			return command_usage("edit: %s: '%.*s': the keys of a %s are %s", verb,
				(int)strcspn(operands[i], "="), operands[i], target->what, keys_text(target, known));
	return COMMAND_OK;
}

int edit_check_settings(const char *verb, char **operands, int count)
{
	int addresses = count_addresses(operands, count), code;
	const struct target *target = !addresses ? &table : are_binds(operands[0]) ? &bind_target : &backend;

	if (addresses == count)
		return command_usage("edit: set: KEY=VALUE is missing");
	code = check_keys(verb, target, operands + addresses, count - addresses);
	if (code != COMMAND_OK)
		return code;
	return (target == &bind_target ? edit_check_binds : edit_check_addresses)(verb, operands, addresses);
}

int edit_check_add_quic(const char *verb, char **operands, int count)
{
	int code = edit_check_remove_quic(verb, operands, 1);

	return code == COMMAND_OK ? check_keys(verb, &quic, operands + 1, count - 1) : code;
}

int edit_check_balance(const char *verb, char **operands, int count)
{
	uint32_t balance;

	if (count == 1 && table_parse_balance(operands[0], &balance))
		return COMMAND_OK;
	return command_usage("edit: %s: '%s' is not off or a number from 1.005 to 2 with at most 3 decimals, such as 1.02",
		verb, operands[count - 1]);
}

/* Returns the value as JSON: a number, true or false as it is, and other text as a string, which the validator may
 * refuse. */
static char *json_value(const struct json_member *member, const char *value)
{
	json_t *string;
	uint32_t number;
	char *text;

	if (member->set == JSON_SET_VALUE && (text_number(value, 0, UINT32_MAX, &number) ||
						     strcmp(value, "true") == 0 || strcmp(value, "false") == 0))
		return strdup(value);
	string = json_text(value);
	text = json_dumps(string, JSON_ENCODE_ANY);
	json_decref(string);
	return text;
}

/* Sets a member of `healthchecks`, which is created if it is missing or null. */
static bool set_check(struct edit *edit, const char *path, const char *key, const char *value)
{
	char checks[96], *old, *object;
	bool done, there;

	snprintf(checks, sizeof(checks), "%s.healthchecks", path);
	old = json_edit_get(&edit->change.after, checks);
	there = old && strcmp(old, "null") != 0;
	free(old);
	if (there)
		return json_edit_set(&edit->change.after, checks, key, value);
	if (asprintf(&object, "{ \"%s\": %s }", key, value) < 0)
		return false;
	done = json_edit_set(&edit->change.after, path, "healthchecks", object);
	free(object);
	return done;
}

/* Applies KEY=VALUE to the object at the path. */
static bool apply(struct edit *edit, const char *path, const struct target *target, const char *operand)
{
	const char *value = strchr(operand, '=') + 1;
	char place[160], *text;
	bool in_checks, done;
	const struct json_member *member = find_key(target, operand, &in_checks);

	if (strcmp(value, "none") == 0) {
		snprintf(place, sizeof(place), "%s%s.%s", path, in_checks ? ".healthchecks" : "", member->name);
		return json_edit_drop(&edit->change.after, place);
	}
	text = json_value(member, value);
	done = text && (in_checks ? set_check(edit, path, member->name, text)
				  : json_edit_set(&edit->change.after, path, member->name, text));
	free(text);
	return done;
}

static bool apply_all(struct edit *edit, const char *path, const struct target *target)
{
	for (int i = count_addresses(edit->operands, edit->count); i < edit->count; i++)
		if (!apply(edit, path, target, edit->operands[i]))
			return false;
	return true;
}

bool edit_set_quic(struct edit *edit, const char *path)
{
	return apply_all(edit, path, &quic);
}

static bool apply_to_backend(struct edit *edit, uint32_t t, uint32_t b, void *)
{
	char path[64];

	snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, b);
	return apply_all(edit, path, &backend) || edit_failed(edit);
}

static bool apply_to_bind(struct edit *edit, uint32_t t, uint32_t b, void *)
{
	char path[64];

	snprintf(path, sizeof(path), "tables[%u].binds[%u]", t, b);
	return apply_all(edit, path, &bind_target) || edit_failed(edit);
}

bool edit_set(struct edit *edit)
{
	int addresses = count_addresses(edit->operands, edit->count);
	char path[32];

	if (addresses && are_binds(edit->operands[0]))
		return edit_each_bind(edit, addresses, apply_to_bind);
	if (addresses)
		return edit_each_backend(edit, addresses, apply_to_backend, NULL);
	if (!edit_needs_one_table(edit))
		return false;
	for (uint32_t t = 0; t < edit->change.old.set.count; t++) {
		snprintf(path, sizeof(path), "tables[%u]", t);
		if (edit->selected[t] && !apply_all(edit, path, &table))
			return edit_failed(edit);
	}
	return true;
}

bool edit_balance(struct edit *edit)
{
	bool off = strcmp(edit->operands[0], "off") == 0, done = edit_needs_one_table(edit);
	struct json_edit *after = &edit->change.after;
	char path[32], member[48];

	for (uint32_t t = 0; t < edit->change.old.set.count && done; t++) {
		if (!edit->selected[t])
			continue;
		snprintf(path, sizeof(path), "tables[%u]", t);
		snprintf(member, sizeof(member), "%s.balance", path);
		done = (off ? json_edit_drop(after, member) : json_edit_set(after, path, "balance", edit->operands[0])) ||
		       edit_failed(edit);
	}
	return done;
}
