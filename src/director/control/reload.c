/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "common/text.h"
#include "program/log.h"
#include "table/file/table_load.h"

static struct routes *load(const char *path, uint32_t *version, struct faults *faults)
{
	struct table_set set = {0};

	faults->file = path;
	faults->strict = true;
	return table_load(path, &set, version, faults) < 0 ? NULL : routes_create(&set, faults);
}

/* Finds the slot with this name that none of the first `count` tables has, because two tables may have the same name. */
static struct reload_slot *find_slot(
	struct reload *reload, const char *name, const struct live_table *live, uint32_t count)
{
	for (unsigned i = 0; i < COUNTERS_SLOTS; i++)
		if (strcmp(reload->slots[i].name, name) == 0 && !memchr(live->slot, (int)i, count))
			return &reload->slots[i];
	return NULL;
}

/* Writes what a table is recognised by after a reload: its name or, after a character that no name has, its first bind. */
static void identify(const struct table *table, char name[RELOAD_NAME_SIZE])
{
	char bind[TABLE_BIND_TEXT_MAX] = "";

	if (!table->name && table->bind_count)
		table_bind_text(&table->binds[0], bind);
	snprintf(name, RELOAD_NAME_SIZE, "%s%s", table->name ? table->name : "\n", bind);
}

/* Gives every table of *live its earlier slot or a free one. There is always one, because of COUNTERS_SLOTS. */
static void assign_slots(struct reload *reload, struct live_table *live,
	struct counters_table (*count)(void *context, uint8_t slot), void *context)
{
	for (uint32_t i = 0; i < live->routes->set.count; i++) {
		char name[RELOAD_NAME_SIZE];
		struct reload_slot *slot;

		identify(&live->routes->set.tables[i], name);
		slot = find_slot(reload, name, live, i);
		if (!slot) {
			slot = find_slot(reload, "", live, i);
			strcpy(slot->name, name);
			slot->baseline = (struct counters_table){0};
			if (count)
				slot->baseline = count(context, (uint8_t)(slot - reload->slots));
		}
		live->slot[i] = (uint8_t)(slot - reload->slots);
	}
}

/* Frees the slots of tables that no longer exist. No worker counts in them any more. */
static void release_slots(struct reload *reload, const struct live_table *live)
{
	bool used[COUNTERS_SLOTS] = {false};

	for (uint32_t i = 0; i < live->routes->set.count; i++)
		used[live->slot[i]] = true;
	for (unsigned i = 0; i < COUNTERS_SLOTS; i++)
		if (!used[i])
			reload->slots[i].name[0] = '\0';
}

/* Lets the backends of tables that keep their slot go on with their counts. */
static void carry_counts(struct live_table *live, const struct live_table *old)
{
	for (uint32_t to = 0; to < live->routes->set.count; to++)
		for (uint32_t from = 0; from < old->routes->set.count; from++)
			if (live->slot[to] == old->slot[from])
				backend_counts_carry(
					&live->backends, live->routes, to, &old->backends, old->routes, from);
}

int reload_count_backends(struct reload *reload, unsigned workers)
{
	struct live_table *live = reload->shared->live;

	return backend_counts_alloc(&live->backends, live->routes, workers) ? 0 : -ENOMEM;
}

static void warn_if_empty(const char *path, const struct table_set *set)
{
	uint32_t binds = 0;

	for (uint32_t i = 0; i < set->count; i++)
		binds += set->tables[i].bind_count;
	if (!set->count)
		log_warning("forwarding table %s has no tables: the director forwards nothing", path);
	else if (!binds)
		log_warning("forwarding table %s has no binds: the director forwards nothing", path);
}

int reload_open(
	struct reload *reload, struct worker_shared *shared, const char *path, unsigned workers, struct faults *faults)
{
	struct live_table *live = calloc(1, sizeof(*live));

	*reload = (struct reload){.path = path, .shared = shared};
	pthread_mutex_init(&reload->lock, NULL);
	shared->qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(workers), RTE_CACHE_LINE_SIZE);
	if (!live || !shared->qsbr || rte_rcu_qsbr_init(shared->qsbr, workers)) {
		faults_error(faults, NULL, "out of memory");
		free(live);
		return -ENOMEM;
	}
	live->routes = load(path, &live->version, faults);
	if (!live->routes) {
		free(live);
		return -EINVAL;
	}
	log_faults(faults, FAULTS_WARNINGS);
	live->generation = 1;
	assign_slots(reload, live, NULL, NULL);
	shared->live = live;
	log_info("forwarding table %s: %" PRIu32 " table%s, digest %016" PRIx64, path, live->routes->set.count,
		text_plural(live->routes->set.count), live->routes->digest);
	warn_if_empty(path, &live->routes->set);
	return 0;
}

static int fail(struct reload *reload, const struct faults *faults)
{
	char more[96] = "";

	if (faults->errors > 1)
		snprintf(more, sizeof(more), " (and %zu more: glb-director-cli check lists them)", faults->errors - 1);
	pthread_mutex_lock(&reload->lock);
	reload->failures++;
	snprintf(reload->last_error, sizeof(reload->last_error), "%.*s%s",
		(int)(sizeof(reload->last_error) - sizeof(more)), faults_first_error(faults), more);
	pthread_mutex_unlock(&reload->lock);
	log_error("forwarding table not reloaded: %s", reload->last_error);
	return -EINVAL;
}

int reload_run(struct reload *reload, struct counters_table (*count)(void *context, uint8_t slot), void *context)
{
	struct faults faults = {0};
	struct live_table *old = reload->shared->live, *live = calloc(1, sizeof(*live));
	int error = 0;

	if (live)
		live->routes = load(reload->path, &live->version, &faults);
	else
		faults_error(&faults, NULL, "out of memory");
	if (live && live->routes && !backend_counts_alloc(&live->backends, live->routes, old->backends.workers)) {
		faults_error(&faults, NULL, "out of memory");
		routes_free(live->routes);
		live->routes = NULL;
	}
	if (!live || !live->routes) {
		error = fail(reload, &faults);
		free(live);
		faults_clear(&faults);
		return error;
	}
	log_faults(&faults, FAULTS_WARNINGS);
	faults_clear(&faults);
	live->generation = old->generation + 1;

	pthread_mutex_lock(&reload->lock);
	assign_slots(reload, live, count, context);
	carry_counts(live, old); /* so that no count seems to go back */
	__atomic_store_n(&reload->shared->live, live, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&reload->lock);
	/* Without the lock, so that telemetry replies even if a worker is stuck. */
	rte_rcu_qsbr_synchronize(reload->shared->qsbr, RTE_QSBR_THRID_INVALID);
	pthread_mutex_lock(&reload->lock);
	release_slots(reload, live);
	carry_counts(live, old); /* with what the workers have counted meanwhile */
	reload->reloads++;
	reload->last_error[0] = '\0';
	pthread_mutex_unlock(&reload->lock);

	log_notice("forwarding table %s reloaded: generation %" PRIu64 ", %" PRIu32 " table%s, digest %016" PRIx64
		   " -> %016" PRIx64,
		reload->path, live->generation, live->routes->set.count, text_plural(live->routes->set.count),
		old->routes->digest, live->routes->digest);
	routes_free(old->routes);
	backend_counts_free(&old->backends);
	free(old);
	return 0;
}

void reload_close(struct reload *reload)
{
	struct worker_shared *shared = reload->shared;

	if (shared->live) {
		routes_free(shared->live->routes);
		backend_counts_free(&shared->live->backends);
	}
	free(shared->live);
	shared->live = NULL;
	rte_free(shared->qsbr);
	shared->qsbr = NULL;
	pthread_mutex_destroy(&reload->lock);
	*reload = (struct reload){0};
}
