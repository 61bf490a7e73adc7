/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/core/checklist.h"

#include <search.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/endpoint.h"

/* The state of checklist_build(). */
struct builder {
	struct checklist *list;
	const struct conf *conf;
	struct hsearch_data by_key;
	/* The different settings of http checks, and an index of their texts. The builder is a user of each. */
	struct conf_http **http;
	size_t http_count;
	struct hsearch_data by_http;
	/* Out of memory. */
	bool failed;
};

static void check_free(struct check *check)
{
	if (!check)
		return;
	free(check->spec.uri);
	conf_http_put(check->spec.http);
	free(check->target);
	free(check->name);
	free(check->key);
	free(check);
}

/* "http 192.168.50.10:80/", "grpc 192.168.50.10:50051/my.Service", "gue 192.168.50.10:19523 to 203.0.113.10" */
static char *target_of(const struct check_spec *spec, const char *host)
{
	const char *kind = check_kinds[spec->kind].name;
	char to[ENDPOINT_TEXT_MAX], ip[NETADDR_TEXT_MAX], *target;
	int size;

	endpoint_text(&spec->addr, spec->port, to);
	if (spec->http)
		size = asprintf(&target, "%s%s %s%s%s%s%s", kind, spec->http->tls ? "s" : "", to,
			spec->kind == CHECK_GRPC ? "/" : "", spec->uri, host ? " as " : "", host ? host : "");
	else if (spec->command)
		size = asprintf(&target, "%s %s %s", kind, spec->command->name, netaddr_format(&spec->addr, ip));
	else if (spec->inner.family)
		size = asprintf(&target, "%s %s to %s", kind, to, netaddr_format(&spec->inner, ip));
	else
		size = asprintf(&target, "%s %s", kind, to);
	return size < 0 ? NULL : target;
}

static char *key_of(const struct check *check)
{
	const struct check_timing *timing = &check->timing;
	char *key;

	if (asprintf(&key, "%s %u %u %u %u %s", check->target, timing->interval_ms, timing->timeout_ms,
		    timing->trigger_healthy, timing->trigger_unhealthy,
		    check->spec.http ? check->spec.http->text : "") < 0)
		return NULL;
	return key;
}

static struct check *check_new(const struct check_spec *spec, const struct check_timing *timing)
{
	struct check *check = calloc(1, sizeof(*check));

	if (!check)
		return NULL;
	check->spec = *spec;
	conf_http_get(check->spec.http);
	check->timing = *timing;
	check->spec.uri = spec->uri ? strdup(spec->uri) : NULL;
	if (check->spec.uri || !spec->uri)
		check->target = target_of(&check->spec, spec->http ? spec->http->host : NULL);
	if (check->target)
		check->key = key_of(check);
	if (check->key)
		return check;
	check_free(check);
	return NULL;
}

/* Returns the index of the check with this target, settings and timing, which it adds if needed; -1: out of memory. */
static int64_t find_or_add(struct builder *builder, const struct check_spec *spec, const struct check_timing *timing)
{
	struct checklist *list = builder->list;
	struct check *check = check_new(spec, timing);
	ENTRY *found, entry = {.key = check ? check->key : NULL};

	entry.data = (void *)(uintptr_t)list->check_count;
	if (!check || !hsearch_r(entry, ENTER, &found, &builder->by_key)) {
		check_free(check);
		return -1;
	}
	if (found->key == check->key)
		list->checks[list->check_count++] = check;
	else
		check_free(check);
	return (int64_t)(uintptr_t)found->data;
}

static void use(struct builder *builder, uint32_t table, uint32_t backend, const struct check_spec *spec)
{
	struct check_timing timing = builder->conf->timing;
	struct checklist *list = builder->list;
	int64_t check;

	table_health_timing(&list->document.health, table, &timing);
	check = find_or_add(builder, spec, &timing);
	if (check < 0)
		builder->failed = true;
	else
		list->uses[list->use_count++] = (struct checklist_use){(uint32_t)check, table, backend};
}

/* Returns the first address of this family among the binds. The proxy must reply for this address, too. */
static const struct netaddr *vip_of(const struct table *table, uint8_t family)
{
	for (uint32_t i = 0; i < table->bind_count; i++)
		if (table->binds[i].prefix.addr.family == family)
			return &table->binds[i].prefix.addr;
	return NULL;
}

/* Adds a check of the backend's own address, and with tunnel_vip one of a VIP of each family, through the tunnel. */
static void use_tunnel(struct builder *builder, uint32_t table, uint32_t backend, struct check_spec *spec)
{
	const struct table *entry = &builder->list->document.set.tables[table];

	spec->inner = spec->addr;
	use(builder, table, backend, spec);
	for (uint8_t family = NETADDR_V4; builder->conf->tunnel_vip && family <= NETADDR_V6; family++) {
		const struct netaddr *vip = vip_of(entry, family);

		/* Without GRE, the kernel binds a FOU port to one family, so the inner one must be the outer one. */
		if (!vip || (spec->kind == CHECK_FOU && !builder->conf->fou_gre && family != spec->addr.family))
			continue;
		spec->inner = *vip;
		use(builder, table, backend, spec);
	}
}

/* Returns the settings for http checks of this backend. The builder owns them. NULL: out of memory. */
static struct conf_http *http_of(struct builder *builder, uint32_t table, uint32_t backend)
{
	const struct table_document *document = &builder->list->document;
	struct http_settings settings = {0};
	ENTRY *found, entry = {0};
	struct conf_http *http;
	char label[16];

	conf_http_of(builder->conf, table_label(&document->set, table, label), &settings);
	table_health_http(&document->health, table, backend, &settings);
	entry.key = conf_http_text(&settings);
	if (entry.key && hsearch_r(entry, FIND, &found, &builder->by_http)) {
		free(entry.key);
		return found->data;
	}
	http = entry.key ? conf_http_make(entry.key) : NULL;
	entry.data = http;
	if (!http || !hsearch_r(entry, ENTER, &found, &builder->by_http)) {
		conf_http_put(http);
		return NULL;
	}
	builder->http[builder->http_count++] = http;
	return http;
}

static void use_kind(struct builder *builder, uint32_t table, uint32_t backend, enum check_kind kind)
{
	const struct table_document *document = &builder->list->document;
	const struct check_targets *targets = &document->health.tables[table].backends[backend];
	const struct check_kind_facts *facts = &check_kinds[kind];
	char *text = targets->texts[kind] ? targets->texts[kind] : (char *)facts->initial;
	struct check_spec spec = {
		.kind = kind,
		.addr = document->set.tables[table].backends[backend].addr,
		.port = targets->ports[kind],
	};

	if (facts->http) {
		spec.uri = text;
		spec.http = http_of(builder, table, backend);
	} else if (!facts->has_port) {
		/* lint_src() has reported a command that healthcheck.conf does not have. */
		spec.command = conf_commands_find(&builder->conf->commands, text);
	}
	if (facts->http && !spec.http)
		builder->failed = true;
	else if (facts->tunnelled)
		use_tunnel(builder, table, backend, &spec);
	else if (facts->has_port || spec.command)
		use(builder, table, backend, &spec);
}

static void use_all(struct builder *builder, uint32_t table, uint32_t backend)
{
	const struct table_document *document = &builder->list->document;

	if (document->set.tables[table].backends[backend].state == TABLE_INACTIVE)
		return;
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		if (check_targets_has(&document->health.tables[table].backends[backend], kind))
			use_kind(builder, table, backend, kind);
}

static void use_table(struct builder *builder, uint32_t table)
{
	struct checklist *list = builder->list;
	uint32_t count = list->document.set.tables[table].backend_count;

	list->first[table] = calloc((size_t)count + 1, sizeof(**list->first));
	if (!list->first[table]) {
		builder->failed = true;
		return;
	}
	for (uint32_t backend = 0; backend < count; backend++) {
		list->first[table][backend] = list->use_count;
		use_all(builder, table, backend);
	}
	list->first[table][count] = list->use_count;
}

/*
 * Builds an index from a string member of each check to its place in the list. `text` is the member's offset. If
 * several checks have the same text, the index has the first.
 */
static bool index_checks(const struct checklist *list, struct hsearch_data *by, size_t text)
{
	ENTRY *found, entry;

	if (!hcreate_r(2 * (size_t)list->check_count + 1, by))
		return false;
	for (uint32_t i = 0; i < list->check_count; i++) {
		entry.key = *(char **)((char *)list->checks[i] + text);
		entry.data = &list->checks[i];
		if (!hsearch_r(entry, ENTER, &found, by)) {
			hdestroy_r(by);
			return false;
		}
	}
	return true;
}

/* Returns the place of the check with this text; NULL: there is none. */
static struct check **find_check(char *text, struct hsearch_data *by)
{
	ENTRY *found, entry = {.key = text};

	return hsearch_r(entry, FIND, &found, by) ? found->data : NULL;
}

/* Names each check after its target and, if several checks have this target, after its first table. */
static bool name_checks(struct checklist *list)
{
	bool *shared = calloc((size_t)list->check_count + 1, sizeof(*shared));
	struct hsearch_data by_target = {0};
	bool good = shared && index_checks(list, &by_target, offsetof(struct check, target));

	for (uint32_t i = 0; good && i < list->check_count; i++) {
		size_t first = (size_t)(find_check(list->checks[i]->target, &by_target) - list->checks);

		if (first != i)
			shared[first] = shared[i] = true;
	}
	for (size_t i = 0; good && i < list->use_count; i++) {
		const struct checklist_use *use = &list->uses[i];
		struct check *check = list->checks[use->check];
		char label[16];

		if (!check->name)
			good = asprintf(&check->name, shared[use->check] ? "%s of %s" : "%s", check->target,
				       table_label(&list->document.set, use->table, label)) >= 0;
	}
	hdestroy_r(&by_target);
	free(shared);
	return good;
}

/* Checks per backend: one of each kind, and through each of two tunnels to two VIPs. */
#define CHECKS_MAX (CHECK_KIND_COUNT + 4)

/* Frees what only the build needs. */
static void builder_free(struct builder *builder)
{
	for (size_t i = 0; i < builder->http_count; i++)
		conf_http_put(builder->http[i]);
	free(builder->http);
	hdestroy_r(&builder->by_http);
	hdestroy_r(&builder->by_key);
}

static bool builder_init(struct builder *builder)
{
	struct checklist *list = builder->list;
	const struct table_set *set = &list->document.set;
	size_t backends = 1 + table_set_totals(set).backends;

	list->checks = calloc(backends * CHECKS_MAX, sizeof(struct check *));
	list->uses = calloc(backends * CHECKS_MAX, sizeof(*list->uses));
	list->first = calloc((size_t)set->count + 1, sizeof(size_t *));
	builder->http = calloc(backends, sizeof(struct conf_http *));
	return list->checks && list->uses && list->first && builder->http &&
	       hcreate_r(2 * backends * CHECKS_MAX, &builder->by_key) && hcreate_r(2 * backends, &builder->by_http);
}

bool checklist_build(struct checklist *list, struct table_document *document, const struct conf *conf)
{
	struct builder builder = {.list = list, .conf = conf};
	bool good;

	*list = (struct checklist){.document = *document};
	*document = (struct table_document){0};
	good = builder_init(&builder);
	for (uint32_t t = 0; good && t < list->document.set.count; t++)
		use_table(&builder, t);
	builder_free(&builder);
	if (good && !builder.failed && name_checks(list))
		return true;
	checklist_free(list);
	return false;
}

static void adopt_verdict(struct check *check, struct hsearch_data *by_name, struct hsearch_data *by_target)
{
	struct check **other = find_check(check->name, by_name);

	if (!other)
		other = find_check(check->target, by_target);
	if (other)
		check->damper = (*other)->damper;
}

/* Replaces the new check by the old one, which gets the new one's name. */
static void adopt_check(struct check **into, struct check **other)
{
	char *name = (*into)->name;

	(*into)->name = (*other)->name;
	(*other)->name = name;
	check_free(*into);
	*into = *other;
	*other = NULL;
}

bool checklist_adopt(struct checklist *list, struct checklist *old)
{
	struct hsearch_data by_key = {0}, by_name = {0}, by_target = {0};
	bool good = index_checks(old, &by_key, offsetof(struct check, key)) &&
		    index_checks(old, &by_name, offsetof(struct check, name)) &&
		    index_checks(old, &by_target, offsetof(struct check, target));
	struct check **other;

	/* Verdicts first: adopt_check() takes checks out of `old`. */
	for (uint32_t i = 0; good && i < list->check_count; i++)
		adopt_verdict(list->checks[i], &by_name, &by_target);
	for (uint32_t i = 0; good && i < list->check_count; i++)
		if ((other = find_check(list->checks[i]->key, &by_key)))
			adopt_check(&list->checks[i], other);
	hdestroy_r(&by_key);
	hdestroy_r(&by_name);
	hdestroy_r(&by_target);
	return good;
}

void checklist_free(struct checklist *list)
{
	for (uint32_t i = 0; i < list->check_count; i++)
		check_free(list->checks[i]);
	for (uint32_t t = 0; list->first && t < list->document.set.count; t++)
		free(list->first[t]);
	free(list->first);
	free(list->checks);
	free(list->uses);
	table_document_free(&list->document);
	*list = (struct checklist){0};
}

bool checklist_has(const struct checklist *list, const struct probe_method *method)
{
	for (uint32_t i = 0; i < list->check_count; i++)
		if (check_methods[list->checks[i]->spec.kind] == method)
			return true;
	return false;
}

bool checklist_is_marked(const struct checklist *list, uint32_t table, uint32_t backend)
{
	return list->document.health.tables[table].backends[backend].marked_unhealthy;
}

bool checklist_has_checks(const struct checklist *list, uint32_t table, uint32_t backend)
{
	return list->first[table][backend] < list->first[table][backend + 1];
}

enum damper_verdict checklist_verdict(const struct checklist *list, uint32_t table, uint32_t backend)
{
	enum damper_verdict verdict = DAMPER_HEALTHY;

	if (!checklist_has_checks(list, table, backend) && checklist_is_marked(list, table, backend))
		return DAMPER_UNHEALTHY;
	for (size_t i = list->first[table][backend]; i < list->first[table][backend + 1]; i++) {
		const struct check *check = list->checks[list->uses[i].check];

		if (check->damper.verdict == DAMPER_UNHEALTHY)
			return DAMPER_UNHEALTHY;
		if (check->damper.verdict == DAMPER_UNKNOWN)
			verdict = DAMPER_UNKNOWN;
	}
	return verdict;
}

void checklist_count(struct checklist *list)
{
	list->unknown = list->wavering = 0;
	for (uint32_t i = 0; i < list->check_count; i++) {
		list->unknown += list->checks[i]->damper.verdict == DAMPER_UNKNOWN;
		list->wavering += damper_wavers(&list->checks[i]->damper);
	}
}

void checklist_end_holds(struct checklist *list)
{
	for (uint32_t i = 0; i < list->check_count; i++) {
		struct damper *damper = &list->checks[i]->damper;

		*damper = (struct damper){.verdict = damper->verdict, .streak = damper->streak};
	}
}

json_t *checklist_save(const struct checklist *list)
{
	json_t *verdicts = json_object();

	for (uint32_t i = 0; i < list->check_count; i++) {
		const struct check *check = list->checks[i];

		if (check->damper.verdict != DAMPER_UNKNOWN)
			json_object_set_new(verdicts, check->name, json_string(damper_name(check->damper.verdict)));
	}
	return verdicts;
}

void checklist_restore(struct checklist *list, const json_t *verdicts)
{
	for (uint32_t i = 0; i < list->check_count; i++) {
		struct check *check = list->checks[i];
		const char *verdict = json_string_value(json_object_get(verdicts, check->name));

		if (!verdict)
			verdict = json_string_value(json_object_get(verdicts, check->target));
		for (enum damper_verdict v = DAMPER_HEALTHY; verdict && v <= DAMPER_UNHEALTHY; v++)
			if (strcmp(verdict, damper_name(v)) == 0)
				check->damper = (struct damper){.verdict = v};
	}
}
