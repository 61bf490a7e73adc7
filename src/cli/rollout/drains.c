/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the proxies that must prove that they have no connections, and where their metrics are. */
#include <stdlib.h>
#include <string.h>

#include "cli/fleet/proxies.h"
#include "cli/rollout/rollout_parts.h"
#include "common/array.h"

#define PAGE_S     10
#define DRAINS_MAX 65536 /* bytes; all of a fleet read the document whenever it changes */

/* Returns the VIPs of both tables of the pair, each once. */
static json_t *vips_of(const struct table_diff *pair)
{
	const struct table *const tables[] = {pair->before, pair->after};
	json_t *set = json_object(), *list = json_array(), *unused;
	char text[NETPREFIX_TEXT_MAX];
	const char *vip;

	for (unsigned t = 0; t < 2; t++)
		for (uint32_t i = 0; i < tables[t]->bind_count; i++)
			json_object_set_new(set, netprefix_format(&tables[t]->binds[i].prefix, text), json_null());
	json_object_foreach(set, vip, unused) json_array_append_new(list, json_string(vip));
	json_decref(set);
	return list;
}

/* Adds the word BACKEND=HOST of a proxy that leaves. False: it is not known if it has connections. */
static bool add_proxy(struct proxies *proxies, const struct table_diff_backend *backend, json_t *words)
{
	char address[NETADDR_TEXT_MAX];
	const char *host;

	proxies->forced = !backend->before->healthy; /* the host may not exist any more */
	if (!proxies_find(proxies, &backend->addr)) {
		if (proxies->forced)
			command_note(
				"%s leaves and is down: nothing waits for it", netaddr_format(&backend->addr, address));
		return proxies->forced;
	}
	host = proxies_peer(proxies, &backend->addr)->text;
	json_array_append_new(words, json_sprintf("%s=%s", netaddr_format(&backend->addr, address),
					     strchr(host, '=') ? strchr(host, '=') + 1 : host));
	return true;
}

static bool add_group(struct proxies *proxies, const struct table_diff *pair, uint32_t step, json_t *groups)
{
	json_t *words = json_array();
	bool added = true;

	for (uint32_t i = 0; pair->before && pair->after && i < pair->backend_count && added; i++)
		if (step ? plan_leaves(&pair->backends[i]) : plan_drains(&pair->backends[i]))
			added = add_proxy(proxies, &pair->backends[i], words);
	if (added && json_array_size(words))
		json_array_append_new(groups,
			json_pack("{s:I, s:o, s:O}", "step", (json_int_t)step, "vips", vips_of(pair), "proxies", words));
	json_decref(words);
	return added;
}

static bool ask(struct proxies *proxies, const struct plan_input *input)
{
	struct netaddr *backends = NULL;
	size_t count = 0;
	bool asked;

	for (uint32_t t = 0; t < input->at_once.count; t++)
		for (uint32_t i = 0; i < input->at_once.tables[t].backend_count; i++) {
			const struct table_diff_backend *backend = &input->at_once.tables[t].backends[i];
			struct netaddr *added =
				plan_leaves(backend) ? array_append(&backends, &count, sizeof(*added)) : NULL;

			if (added)
				*added = backend->addr;
		}
	asked = proxies_ask(proxies, backends, count);
	free(backends);
	return asked;
}

bool rollout_set_drains(struct rollout *rollout, const struct plan_input *input, const char *file)
{
	struct proxies proxies;
	json_t *groups = json_array();
	bool found = proxies_open(&proxies, file, PAGE_S, false) && ask(&proxies, input);

	for (uint32_t step = 0; step < rollout->count && found; step++) {
		if (rollout->steps[step].wait != ROLLOUT_DRAINED)
			continue;
		/* A group without proxies: those that leave may all be down. */
		json_array_append_new(
			groups, json_pack("{s:I, s:[], s:[]}", "step", (json_int_t)step, "vips", "proxies"));
		for (uint32_t t = 0; t < input->at_once.count && found; t++)
			found = add_group(&proxies, &input->at_once.tables[t], step, groups);
	}
	if (found && json_array_size(groups))
		rollout->drains = json_dumps(groups, JSON_COMPACT);
	if (rollout->drains && strlen(rollout->drains) > DRAINS_MAX) {
		command_error(
			"%s: more proxies leave, or have more VIPs, than a roll-out can ask: replace fewer at a time",
			file);
		found = false;
	}
	json_decref(groups);
	proxies_close(&proxies);
	return found;
}
