/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/apply.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/file.h"
#include "common/siphash.h"
#include "common/text.h"
#include "deliver/deliver.h"
#include "fleet/job.h"
#include "fleet/keys.h"
#include "table/file/json/json_text.h"
#include "table/file/json/table_json.h"
#include "table/file/table_load.h"
#include "table/table_guard.h"

#define BINARY_MAX TABLE_LOAD_MAX_BINARY
#define BEFORE_MAX 99u /* copies of edited files */

/* A file as it was before. */
struct kept {
	const char *path;
	char *text; /* NULL: there was none */
	size_t size;
	struct stat status;
};

struct work {
	const struct apply *apply;
	char *text; /* what the file shall have */
	size_t size;
	struct table_set set; /* of the text, without rows */
	struct kept json, binary;
	char digest[DIRECTOR_DIGEST_SIZE];
	uint64_t on_disk; /* apply_hash() of what the agent has written to the file; 0: nothing */
	bool edited;
};

uint64_t apply_hash(const char *text, size_t size)
{
	static const uint8_t key[SIPHASH_KEY_SIZE] = "GLB fleet table";
	uint64_t hash = siphash(key, text, size);

	return hash ? hash : 1;
}

bool apply_has(const char *path, uint64_t hash)
{
	struct faults ignored = {0};
	char *text;
	size_t size;
	bool same = file_read(path, "a table", TABLE_LOAD_MAX_JSON, &text, &size, &ignored) == 0 &&
		    apply_hash(text, size) == hash;

	free(text);
	faults_clear(&ignored);
	return same;
}

static _Noreturn void finish(struct work *work, const char *word, const char *reason)
{
	char fingerprint[TEXT_HEX64] = "", written[TEXT_HEX64];

	if (work->set.count)
		text_hex64(table_set_fingerprint(&work->set), fingerprint);
	text_hex64(work->on_disk, written);
	job_finish(json_pack("{s:s, s:o, s:s, s:s, s:s, s:b}", "result", word, "reason", json_text(reason), "written",
		written, "digest", work->digest, "fingerprint", fingerprint, "edited", work->edited));
}

static _Noreturn void finish_faults(struct work *work, const char *word, const struct faults *faults)
{
	char reason[1024];

	if (faults->errors > 1)
		snprintf(reason, sizeof(reason), "%s (and %zu more)", faults_first_error(faults), faults->errors - 1);
	else
		snprintf(reason, sizeof(reason), "%s", faults_first_error(faults));
	finish(work, word, reason);
}

/* The table in use: the JSON file, or the binary table if that file is missing or damaged. */
static bool load_old(const struct fleet_conf *conf, struct table_set *old)
{
	struct faults ignored = {0};
	bool loaded =
		table_load_json(conf->table, old, &ignored) == 0 || table_load(conf->binary, old, NULL, &ignored) == 0;

	faults_clear(&ignored);
	return loaded;
}

static void check(struct work *work)
{
	const struct fleet_conf *conf = work->apply->conf;
	struct faults faults = {0};
	struct table_set old;
	struct table_guard guard = {.old = &old, .new = &work->set, .max_shrink = conf->max_shrink};
	char why[TABLE_GUARD_TEXT_MAX];

	work->text = keys_expand(work->apply->text, conf->keys_dir, &faults);
	if (!work->text)
		finish_faults(work, "refused", &faults);
	work->size = strlen(work->text);
	if (table_json_parse(work->text, work->size, &work->set, &faults))
		finish_faults(work, "refused", &faults);
	if (work->apply->known || !load_old(conf, &old))
		return;
	if (!table_guard_allows(&guard, &faults))
		finish(work, "refused", table_guard_refusal(&guard, &faults, why));
	table_set_free(&old);
	faults_clear(&faults);
}

static bool keep(struct kept *kept, const char *path, size_t max, struct faults *faults)
{
	*kept = (struct kept){.path = path};
	file_look(path, &kept->status);
	return access(path, F_OK) < 0 || file_read(path, "a table", max, &kept->text, &kept->size, faults) == 0;
}

static void restore(const struct kept *kept)
{
	struct faults faults = {.file = kept->path};
	char *file = file_follow(kept->path);

	if (kept->text)
		file_replace_known(kept->path, &kept->status, kept->text, kept->size, &faults);
	else if (file)
		unlink(file);
	free(file);
	if (faults.errors)
		fprintf(stderr, "a file is not as before the refusal: %s\n", faults_first_error(&faults));
	faults_clear(&faults);
}

/* Keeps what somebody else has written to the table's file as FILE.before, or as FILE.before.2 and so on, because an
 * older one may be the only copy of what an operator has written. */
static bool keep_edits(struct work *work, struct faults *faults)
{
	const struct kept *json = &work->json;
	char path[PATH_MAX], number[16] = "";
	bool has = false, exists = true;

	work->edited = json->text && apply_hash(json->text, json->size) != work->apply->written;
	if (!work->edited)
		return true;
	for (unsigned i = 1; i <= BEFORE_MAX && exists && !has; i++) {
		if (i > 1)
			snprintf(number, sizeof(number), ".%u", i);
		snprintf(path, sizeof(path), "%s.before%s", json->path, number);
		exists = access(path, F_OK) == 0;
		has = exists && apply_has(path, apply_hash(json->text, json->size));
	}
	if (exists && !has) {
		faults_error(faults, json->path, "was edited, and the files .before to .before.%u exist: remove them",
			BEFORE_MAX);
		return false;
	}
	faults->file = path;
	if (!has && file_replace_like(path, json->path, json->text, json->size, faults))
		return false;
	fprintf(stderr,
		"%s was not as glb-fleet had written it: the table of the fleet replaces it, and the old text is kept as %s\n",
		json->path, path);
	return true;
}

static void write_json(struct work *work)
{
	const struct fleet_conf *conf = work->apply->conf;
	struct faults faults = {0};

	if (!keep(&work->json, conf->table, TABLE_LOAD_MAX_JSON, &faults))
		finish_faults(work, "failed", &faults);
	work->on_disk = apply_hash(work->text, work->size);
	if (work->json.text && work->json.size == work->size && memcmp(work->json.text, work->text, work->size) == 0)
		return;
	work->on_disk = 0;
	if (!keep_edits(work, &faults))
		finish_faults(work, "failed", &faults);
	faults.file = conf->table;
	if (file_replace_known(conf->table, &work->json.status, work->text, work->size, &faults))
		finish_faults(work, "failed", &faults);
	work->on_disk = apply_hash(work->text, work->size);
	faults_clear(&faults);
}

/* The director runs and uses another table, so it has refused this one. Does not leave that for its next start. */
static _Noreturn void take_back(struct work *work, const struct director_table *table)
{
	char reason[512];

	file_look(work->binary.path, &work->binary.status);
	restore(&work->binary);
	file_look(work->json.path, &work->json.status);
	if (apply_has(work->json.path, apply_hash(work->text, work->size))) {
		restore(&work->json);
		/* An edited file is mended later. */
		work->on_disk = work->json.text && !work->edited ? apply_hash(work->json.text, work->json.size) : 0;
	}
	snprintf(reason, sizeof(reason),
		"the director refuses it and keeps the table with digest %s%s%s; the files are as before",
		table->digest, table->error[0] ? ": " : "", table->error);
	work->digest[0] = '\0';
	finish(work, "refused", reason);
}

/* Returns true if the director has tried the table since `before` and keeps another one. A director that is only slow
 * may still have the error of an older table. systemctl also fails if this user may not reload the director; but then
 * systemd's record of the last reload does not change. After a refusal, glb-director-cli reload exits with 3. */
static bool is_refused(
	const struct work *work, const struct director_table *before, const char *reload, struct director_table *table)
{
	const char *notify = work->apply->conf->notify, *after;

	if (!deliver_ask(notify, table) || strcmp(table->digest, work->digest) == 0)
		return false;
	if (notify[0] == '/')
		return before->digest[0] && table->failures > before->failures;
	after = director_unit_reload(notify);
	return reload && after && strcmp(reload, after) != 0 && strstr(after, " code=exited ; status=3 ");
}

static void deliver(struct work *work)
{
	const struct fleet_conf *conf = work->apply->conf;
	const struct deliver plan = {.json = conf->table,
		.binary = conf->build,
		.rights = conf->table,
		.notify = conf->notify,
		.timeout_ms = conf->reload_timeout_ms};
	const char *reload;
	struct director_table before = {0}, table;
	struct faults faults = {0};
	int code;

	if (!keep(&work->binary, conf->build, BINARY_MAX, &faults))
		finish_faults(work, "failed", &faults);
	if (deliver_build(&plan, work->digest)) {
		work->digest[0] = '\0';
		finish(work, "failed", "the binary table was not built");
	}
	if (!apply_has(conf->table, work->on_disk)) {
		work->digest[0] = '\0';
		finish(work, "failed", "another program changed the table's file before it was built");
	}
	if (!conf->notify || (deliver_ask(conf->notify, &before) && strcmp(before.digest, work->digest) == 0))
		return;
	reload = conf->notify[0] == '/' ? NULL : director_unit_reload(conf->notify);
	code = deliver_notify(&plan, work->digest);
	if (code == 0 || code == DELIVER_UNVERIFIED)
		return;
	if (is_refused(work, &before, reload, &table))
		take_back(work, &table);
	finish(work, "failed", "the director does not use the table yet");
}

void apply_run(const void *data)
{
	struct work work = {.apply = data};

	check(&work);
	write_json(&work);
	if (work.apply->conf->build)
		deliver(&work);
	finish(&work, "applied", "");
}
