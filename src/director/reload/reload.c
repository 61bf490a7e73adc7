/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/reload/reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_malloc.h>

#include "common/array.h"
#include "common/file/file.h"
#include "common/text.h"
#include "director/conf/conf_tables.h"
#include "director/reload/reload_guard.h"
#include "director/reload/reload_next_hops.h"
#include "packet/slow.h"
#include "program/log.h"
#include "table/file/table_load.h"

#define NO_SLOT UINT16_MAX

_Static_assert(RELOAD_SLOTS <= NO_SLOT, "a slot is a uint16_t");

/* Adds warnings about what makes packets slower, and keeps the first one for telemetry. */
static void warn_of_slow(const struct reload *reload, struct live_table *live, struct faults *faults)
{
	size_t before = faults->count;

	slow_warn(&live->routes->set, live->routes->portmap, faults);
	if (reload->conf->steering.alt_hash_fields)
		slow_warn_alt(&live->routes->set, faults);
	if (faults->count > before) /* without the name of the file and ": " */
		snprintf(live->slow, sizeof(live->slow), "%s", faults->items[before].text + strlen(reload->path) + 2);
}

bool reload_is_due(const struct reload *reload)
{
	struct stat now;

	file_look(reload->path, &now);
	return now.st_ino && !file_is_unchanged(&now, &reload->tried_file);
}

/* Fills live->routes. False: there are errors in faults. */
static bool load(struct reload *reload, struct live_table *live, struct faults *faults)
{
	struct table_set set = {0};

	file_look(reload->path, &reload->tried_file); /* first, so that a change while it is read is noticed later */
	faults->file = reload->path;
	if (table_load(reload->path, &set, &live->version, faults) == 0)
		conf_tables_check(reload->conf, &set, faults);
	if (!faults->errors)
		live->routes = routes_create(&set, faults);
	table_set_free(&set);
	if (!live->routes)
		return false;
	live->fingerprint = table_set_fingerprint(&live->routes->set);
	warn_of_slow(reload, live, faults);
	return true;
}

/* Writes what a table is recognised by after a reload: its name or, after a character that no name has, its
 * first bind. */
static void identify(const struct table *table, char name[RELOAD_NAME_SIZE])
{
	char bind[TABLE_BIND_TEXT_MAX] = "";

	if (!table->name && table->bind_count)
		table_bind_text(&table->binds[0], bind);
	snprintf(name, RELOAD_NAME_SIZE, "%s%s", table->name ? table->name : "\n", bind);
}

static int compare_slots(const void *a, const void *b)
{
	const struct reload_slot *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (*x > *y) - (*x < *y);
}

/* Returns the first slot of the name that is not used. `sorted` has all slots. NULL: there is none. */
static struct reload_slot *find_slot(
	struct reload *reload, struct reload_slot *const sorted[RELOAD_SLOTS], const bool *used, const char *name)
{
	size_t low;

	ARRAY_BISECT(low, RELOAD_SLOTS, strcmp(sorted[low]->name, name) < 0);
	/* Two tables without a name may have the same first bind. */
	for (; low < RELOAD_SLOTS && strcmp(sorted[low]->name, name) == 0; low++)
		if (!used[sorted[low] - reload->slots])
			return sorted[low];
	return NULL;
}

/* Gives the tables of *live the slots that they had before. The others get NO_SLOT. */
static void keep_slots(struct reload *reload, struct live_table *live)
{
	struct reload_slot *sorted[RELOAD_SLOTS];
	bool used[RELOAD_SLOTS] = {false};

	for (unsigned i = 0; i < RELOAD_SLOTS; i++)
		sorted[i] = &reload->slots[i];
	qsort(sorted, RELOAD_SLOTS, sizeof(sorted[0]), compare_slots);
	for (uint32_t i = 0; i < live->routes->set.count; i++) {
		char name[RELOAD_NAME_SIZE];
		struct reload_slot *slot;

		identify(&live->routes->set.tables[i], name);
		slot = find_slot(reload, sorted, used, name);
		live->slot[i] = slot ? (uint16_t)(slot - reload->slots) : NO_SLOT;
		if (slot)
			used[live->slot[i]] = true;
	}
}

/* Gives every table of *live its earlier slot or a free one. There is always one, because of RELOAD_SLOTS. */
static void assign_slots(struct reload *reload, struct live_table *live)
{
	uint16_t at = 0;

	keep_slots(reload, live);
	for (uint32_t i = 0; i < live->routes->set.count; i++) {
		struct reload_slot *slot;

		if (live->slot[i] != NO_SLOT)
			continue;
		while (reload->slots[at].name[0])
			at++;
		slot = &reload->slots[at];
		identify(&live->routes->set.tables[i], slot->name);
		slot->traffic = (struct traffic){0};
		live->slot[i] = at;
	}
}

/* Frees the slots of tables that no longer exist. */
static void release_slots(struct reload *reload, const struct live_table *live)
{
	bool used[RELOAD_SLOTS] = {false};

	for (uint32_t i = 0; i < live->routes->set.count; i++)
		used[live->slot[i]] = true;
	for (unsigned i = 0; i < RELOAD_SLOTS; i++)
		if (!used[i])
			reload->slots[i].name[0] = '\0';
}

/* Lets the tables that keep their slot go on with their counts. */
static void carry_counts(struct live_table *live, const struct live_table *old)
{
	for (uint32_t to = 0; to < live->routes->set.count; to++)
		for (uint32_t from = 0; from < old->routes->set.count; from++)
			if (live->slot[to] == old->slot[from])
				table_counts_carry(&live->counts, live->routes, to, &old->counts, old->routes, from);
}

int reload_count_backends(struct reload *reload, unsigned workers)
{
	struct live_table *live = reload->shared->live;

	return table_counts_alloc(&live->counts, live->routes, workers) ? 0 : -ENOMEM;
}

/* Remembers a load that has ended. reload->lock is held, or nobody else reads. */
static void record(struct reload *reload, const char *error)
{
	const struct live_table *live = reload->shared->live;
	struct reload_record *to = &reload->records[reload->record_count++ % RELOAD_RECORDS];

	*to = (struct reload_record){
		.at = (uint64_t)time(NULL), .generation = live->generation, .digest = live->routes->digest};
	snprintf(to->error, sizeof(to->error), "%s", error);
}

int reload_open(struct reload *reload, struct worker_shared *shared, const char *path, const struct conf *conf,
	unsigned workers, struct faults *faults)
{
	struct live_table *live = calloc(1, sizeof(*live));

	*reload = (struct reload){.path = path, .shared = shared, .conf = conf};
	pthread_mutex_init(&reload->lock, NULL);
	shared->qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(workers), RTE_CACHE_LINE_SIZE);
	if (!live || !shared->qsbr || rte_rcu_qsbr_init(shared->qsbr, workers)) {
		faults_error(faults, NULL, "out of memory");
		free(live);
		return -ENOMEM;
	}
	if (!load(reload, live, faults)) {
		free(live);
		return -EINVAL;
	}
	reload_guard_first(&live->routes->set, faults);
	log_faults(faults, FAULTS_WARNINGS);
	live->generation = 1;
	reload->loaded = (uint64_t)time(NULL);
	assign_slots(reload, live);
	shared->live = live;
	record(reload, "");
	log_info("forwarding table %s: %" PRIu32 " table%s, digest %016" PRIx64, path, live->routes->set.count,
		text_plural(live->routes->set.count), live->routes->digest);
	return 0;
}

/* Writes the first error, and how many others there are. */
static void describe_errors(const struct faults *faults, char text[RELOAD_ERROR_SIZE])
{
	char more[96] = "";

	if (faults->errors > 1)
		snprintf(more, sizeof(more), " (and %zu more: glb-director-cli check lists them)", faults->errors - 1);
	snprintf(text, RELOAD_ERROR_SIZE, "%.*s%s", (int)(RELOAD_ERROR_SIZE - sizeof(more)), faults_first_error(faults),
		more);
}

static int fail(struct reload *reload, const char *text)
{
	log_error("forwarding table not reloaded: %s", text); /* before anybody can see that it is counted */
	pthread_mutex_lock(&reload->lock);
	reload->failures++;
	reload->tried = (uint64_t)time(NULL);
	snprintf(reload->last_error, sizeof(reload->last_error), "%s", text);
	record(reload, text);
	pthread_mutex_unlock(&reload->lock);
	return -EINVAL;
}

static void free_live(struct live_table *live)
{
	if (!live)
		return;
	routes_free(live->routes);
	table_counts_free(&live->counts);
	reload_next_hops_free(live);
	free(live);
}

/* Returns what workers need to use the file. NULL: there are errors in faults. */
static struct live_table *load_live(struct reload *reload, struct faults *faults)
{
	unsigned workers = reload->shared->live->counts.backends.workers;
	struct live_table *live = calloc(1, sizeof(*live));

	if (live && load(reload, live, faults) && table_counts_alloc(&live->counts, live->routes, workers))
		return live;
	if (!faults->errors)
		faults_error(faults, NULL, "out of memory");
	free_live(live);
	return NULL;
}

/* Loads the file, and compares it with the table in use. NULL: `why` says why the file is refused. */
static struct live_table *load_next(struct reload *reload, bool force, char why[RELOAD_ERROR_SIZE])
{
	struct faults faults = {0};
	struct live_table *live = load_live(reload, &faults);

	if (!live) {
		describe_errors(&faults, why);
	} else if (reload_guard_allows(reload, &live->routes->set, force, &faults, why)) {
		log_faults(&faults, FAULTS_WARNINGS);
	} else {
		if (faults.errors > 1)
			log_faults(&faults, FAULTS_ERRORS);
		free_live(live);
		live = NULL;
	}
	faults_clear(&faults);
	return live;
}

struct live_table *reload_load(struct reload *reload, bool force)
{
	char why[RELOAD_ERROR_SIZE];
	struct live_table *live;

	for (uint32_t sampled = 0; sampled < reload->shared->live->routes->set.count;)
		sampled += reload_guard_sample(reload, RELOAD_GUARD_BACKENDS);
	live = load_next(reload, force, why);
	if (!live)
		fail(reload, why);
	return live;
}

int reload_publish(struct reload *reload, struct live_table *live)
{
	struct live_table *old = reload->shared->live;

	if (reload_next_hops_build(reload, live)) {
		free_live(live);
		return fail(reload, "out of memory for next hops");
	}
	live->generation = old->generation + 1;
	pthread_mutex_lock(&reload->lock);
	assign_slots(reload, live);
	carry_counts(live, old); /* so that no count seems to go back */
	__atomic_store_n(&reload->shared->live, live, __ATOMIC_RELEASE);
	reload->replaced = old;
	pthread_mutex_unlock(&reload->lock);
	return 0;
}

const struct live_table *reload_lock(struct reload *reload)
{
	pthread_mutex_lock(&reload->lock);
	return reload->shared->live;
}

void reload_unlock(struct reload *reload)
{
	pthread_mutex_unlock(&reload->lock);
}

const char *reload_format_name(const struct live_table *live)
{
	return live->version == 0 ? "JSON" : live->version == 2 ? "version 2" : "version 3";
}

void reload_finish(struct reload *reload)
{
	struct live_table *old = reload->replaced, *live = reload->shared->live;

	/* Without the lock, so that telemetry replies even if a worker is stuck. */
	rte_rcu_qsbr_synchronize(reload->shared->qsbr, RTE_QSBR_THRID_INVALID);
	pthread_mutex_lock(&reload->lock);
	release_slots(reload, live);
	carry_counts(live, old); /* with what the workers have counted meanwhile */
	reload->reloads++;
	reload->loaded = reload->tried = (uint64_t)time(NULL);
	reload->last_error[0] = '\0';
	record(reload, "");
	pthread_mutex_unlock(&reload->lock);

	log_notice("forwarding table %s reloaded: generation %" PRIu64 ", %" PRIu32 " table%s, digest %016" PRIx64
		   " -> %016" PRIx64,
		reload->path, live->generation, live->routes->set.count, text_plural(live->routes->set.count),
		old->routes->digest, live->routes->digest);
	free_live(old);
	reload->replaced = NULL;
}

void reload_close(struct reload *reload)
{
	struct worker_shared *shared = reload->shared;

	if (!shared)
		return;
	reload_next_hops_collect(reload);
	free_live(shared->live);
	shared->live = NULL;
	rte_free(shared->qsbr);
	shared->qsbr = NULL;
	pthread_mutex_destroy(&reload->lock);
	*reload = (struct reload){0};
}
