/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs for binds: add-bind, remove-bind. */
#include <stdio.h>
#include <string.h>

#include "cli/edit/bind_operand.h"
#include "cli/edit/edit.h"

int edit_check_binds(const char *verb, char **operands, int count)
{
	struct table_bind bind;

	for (int i = 0; i < count; i++) {
		if (!bind_operand_parse(operands[i], &bind))
			return command_usage("edit: %s: '%s' is not a bind: %s", verb, operands[i], BIND_OPERAND_FORM);
		for (int j = 0; j < i; j++)
			if (strcmp(operands[i], operands[j]) == 0)
				return command_usage("edit: %s: '%s' is given twice", verb, operands[i]);
	}
	return COMMAND_OK;
}

static bool is_same(const struct table_bind *bind, const char *operand)
{
	struct table_bind other;

	return bind_operand_parse(operand, &other) && table_bind_compare(bind, &other) == 0;
}

static bool has_bind(const struct table *table, const char *operand)
{
	struct table_bind bind;

	bind_operand_parse(operand, &bind);
	for (uint32_t i = 0; i < table->bind_count; i++)
		if (table_bind_compare(&table->binds[i], &bind) == 0)
			return true;
	return false;
}

static bool add_to(struct edit *edit, uint32_t t, const char *operand)
{
	struct table_bind bind;
	char text[NETPREFIX_TEXT_MAX], ip[NETPREFIX_TEXT_MAX + 2], protocol[8], first[8], last[8], object[24], path[32];
	struct json_edit_member members[5] = {{"ip", ip}, {"proto", protocol}, {"port", first}};
	size_t count = 3;

	bind_operand_parse(operand, &bind);
	snprintf(ip, sizeof(ip), "\"%s\"", netprefix_format(&bind.prefix, text));
	snprintf(protocol, sizeof(protocol), "\"%s\"", table_protocol_name(bind.protocol));
	snprintf(first, sizeof(first), "%u", bind.port_start);
	snprintf(last, sizeof(last), "%u", bind.port_end);
	if (bind.port_start != bind.port_end) {
		members[2].key = "port_start";
		members[count++] = (struct json_edit_member){"port_end", last};
	}
	if (bind.quic)
		members[count++] = (struct json_edit_member){"quic", "true"};
	snprintf(object, sizeof(object), "tables[%u]", t);
	snprintf(path, sizeof(path), "%s.binds", object);
	if (json_edit_append(&edit->change.after, path, members, count))
		return true;
	return !edit->change.old.set.tables[t].bind_count && /* it may be null */
	       json_edit_set(&edit->change.after, object, "binds", "[]") &&
	       json_edit_append(&edit->change.after, path, members, count);
}

bool edit_add_bind(struct edit *edit)
{
	const struct table_set *set = &edit->change.old.set;
	char label[16];

	if (!edit_needs_one_table(edit))
		return false;
	for (uint32_t t = 0; t < set->count; t++) {
		for (int i = 0; i < edit->count && edit->selected[t]; i++) {
			if (has_bind(&set->tables[t], edit->operands[i])) {
				command_error("%s: %s is a bind of table %s already", edit->change.named,
					edit->operands[i], table_label(set, t, label));
				return false;
			}
			if (!add_to(edit, t, edit->operands[i]))
				return edit_failed(edit);
		}
	}
	return true;
}

static bool is_operand(const struct edit *edit, int count, const struct table_bind *bind)
{
	for (int i = 0; i < count; i++)
		if (is_same(bind, edit->operands[i]))
			return true;
	return false;
}

bool edit_each_bind(struct edit *edit, int count, edit_visit *visit)
{
	const struct table_set *set = &edit->change.old.set;
	bool found[TABLE_MAX_TABLES];

	for (int i = 0; i < count; i++) {
		for (uint32_t t = 0; t < set->count; t++)
			found[t] = edit->selected[t] && has_bind(&set->tables[t], edit->operands[i]);
		if (!edit_check_matches(edit, "bind", edit->operands[i], found))
			return false;
	}
	/* Backwards, so that the indices before stay valid. */
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t b = set->tables[t].bind_count; edit->selected[t] && b-- > 0;)
			if (is_operand(edit, count, &set->tables[t].binds[b]) && !visit(edit, t, b, NULL))
				return false;
	return true;
}

static bool remove_bind(struct edit *edit, uint32_t t, uint32_t b, void *)
{
	char path[64];

	snprintf(path, sizeof(path), "tables[%u].binds[%u]", t, b);
	return json_edit_remove(&edit->change.after, path) || edit_failed(edit);
}

bool edit_remove_bind(struct edit *edit)
{
	return edit_each_bind(edit, edit->count, remove_bind);
}
