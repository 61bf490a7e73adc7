/* SPDX-License-Identifier: BSD-3-Clause */
/* The verb remove. With --proxies it asks the proxies first whether they have connections left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/edit/edit.h"
#include "cli/fleet/proxies.h"
#include "common/text.h"

static bool refuse_active(struct edit *edit, uint32_t t, uint32_t b, void *)
{
	const struct table_set *set = &edit->change.old.set;
	const struct table_backend *backend = &set->tables[t].backends[b];
	char address[NETADDR_TEXT_MAX], label[16];

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
	ended = proxies_open(&proxies, file, edit->args->numbers[TELEMETRY_TIMEOUT], edit->args->options[CHANGE_FORCE]) &&
		proxies_ask_for_new_counts(&proxies, backends, (size_t)edit->count) &&
		edit_each_backend(edit, edit->count, check_left, &proxies);
	proxies_close(&proxies);
	free(backends);
	return ended;
}

static bool remove_one(struct edit *edit, uint32_t t, uint32_t b, void *)
{
	char path[64];

	snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, b);
	return json_edit_remove(&edit->change.after, path) || edit_failed(edit);
}

bool edit_remove(struct edit *edit)
{
	const char *file = edit->args->options[EDIT_PROXIES];

	if (file && (!edit_each_backend(edit, edit->count, refuse_active, NULL) || !ask(edit, file)))
		return false;
	return edit_each_backend(edit, edit->count, remove_one, NULL);
}
