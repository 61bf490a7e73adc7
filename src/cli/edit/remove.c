/* SPDX-License-Identifier: BSD-3-Clause */
/* The verb remove. With --proxies it asks the proxies first whether they have connections left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/edit/edit.h"
#include "cli/edit/proxies.h"
#include "common/text.h"

static bool is_operand(const struct edit *edit, const struct table_backend *backend)
{
	for (int i = 0; i < edit->count; i++) {
		struct netaddr addr = {0};

		netaddr_parse(edit->operands[i], &addr);
		if (netaddr_compare(&addr, &backend->addr) == 0)
			return true;
	}
	return false;
}

/* Calls `visit` for each backend that is removed: table and index. Backwards, so that the indices before stay valid. */
static bool each_removed(struct edit *edit, void *context, bool (*visit)(struct edit *, uint32_t, uint32_t, void *))
{
	const struct table_set *set = &edit->change.old.set;

	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t b = set->tables[t].backend_count; edit->selected[t] && b-- > 0;)
			if (is_operand(edit, &set->tables[t].backends[b]) && !visit(edit, t, b, context))
				return false;
	return true;
}

static bool refuse_active(struct edit *edit, uint32_t t, uint32_t b, void *unused)
{
	const struct table_set *set = &edit->change.old.set;
	const struct table_backend *backend = &set->tables[t].backends[b];
	char address[NETADDR_TEXT_MAX], label[16];

	(void)unused;
	if (backend->state == TABLE_DRAINING || backend->state == TABLE_INACTIVE)
		return true;
	command_error("%s: %s is %s in table %s, so it gets new connections: drain it first", edit->change.named,
		netaddr_format(&backend->addr, address), table_state_name(backend->state), table_label(set, t, label));
	return false;
}

/* Returns false if the proxy may have connections and its user does not insist. */
static bool check_left(struct edit *edit, uint32_t t, uint32_t b, void *context)
{
	const struct table_set *set = &edit->change.old.set;
	const struct netaddr *backend = &set->tables[t].backends[b].addr;
	char address[NETADDR_TEXT_MAX], label[16];
	const struct proxies *proxies = context;
	uint64_t left;
	bool known = proxies_count_left(proxies, backend, &set->tables[t], &left);

	netaddr_format(backend, address);
	if (left) {
		command_error(
			"%s%s: %s has %" PRIu64
			" connection%s left for VIPs of table %s: wait until they have ended (glb-redirect drained shows them there)%s",
			proxies->forced ? "warning: " : "", edit->change.named, address, left, text_plural(left),
			table_label(set, t, label), proxies->forced ? "" : ", or give --force to end them");
		edit->failed = CLI_BROKEN;
	} else if (known) {
		printf("%s: %s has no connection left\n", table_label(set, t, label), address);
	} else if (!proxies->forced) {
		command_error("%s: refused: if %s has no connections of table %s, or may lose them, give --force",
			edit->change.named, address, table_label(set, t, label));
	}
	return ((known && !left) || proxies->forced) && change_add_ended(&edit->change, t, b);
}

static bool ask(struct edit *edit, const char *file)
{
	struct netaddr *backends = calloc((size_t)edit->count, sizeof(*backends));
	struct proxies proxies;
	bool ended;

	if (!backends)
		return edit_failed(edit);
	for (int i = 0; i < edit->count; i++)
		netaddr_parse(edit->operands[i], &backends[i]);
	ended = proxies_open(&proxies, file, edit->args) &&
		proxies_ask_for_new_counts(&proxies, backends, (size_t)edit->count) &&
		each_removed(edit, &proxies, check_left);
	proxies_close(&proxies);
	free(backends);
	return ended;
}

static bool remove_one(struct edit *edit, uint32_t t, uint32_t b, void *unused)
{
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, b);
	return json_edit_remove(&edit->change.after, path) || edit_failed(edit);
}

bool edit_remove(struct edit *edit)
{
	const char *file = edit->args->options[EDIT_PROXIES];
	bool found[TABLE_MAX_TABLES];

	for (int i = 0; i < edit->count; i++)
		if (!edit_find_tables(edit, edit->operands[i], found))
			return false;
	if (file && (!each_removed(edit, NULL, refuse_active) || !ask(edit, file)))
		return false;
	return each_removed(edit, NULL, remove_one);
}
