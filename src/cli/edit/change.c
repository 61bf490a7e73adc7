/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/edit/change.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/diff/diff_print.h"
#include "cli/edit/describe.h"
#include "cli/edit/history.h"
#include "cli/output.h"
#include "common/cpus.h"
#include "common/file/file.h"
#include "common/file/file_lock.h"
#include "common/text.h"
#include "program/installed.h"
#include "table/file/json/table_json.h"
#include "table/file/table_load.h"
#include "table/table_guard.h"

#define PATIENCE_MS 2000

int change_lock(const char *path, const char *named)
{
	char holder[FILE_LOCK_HOLDER_MAX], last[FILE_LOCK_HOLDER_MAX] = "";
	int lock;

	while ((lock = file_lock(path, PATIENCE_MS, holder)) == -EWOULDBLOCK) {
		if (strcmp(holder, last) != 0)
			command_note("%s: waits for %s, which has locked %s.lock", named, holder, path);
		memcpy(last, holder, sizeof(last));
	}
	if (lock < 0)
		command_error("%s: cannot be locked by %s.lock: %s", named, path, strerror(-lock));
	return lock;
}

/* Waits for other changes of the file, so that none is lost. */
static bool lock_file(struct change *change)
{
	if (asprintf(&change->lock_path, "%s" CHANGE_LOCK, change->path) < 0) {
		change->lock_path = NULL;
		return command_error("out of memory") == COMMAND_OK;
	}
	change->lock = change_lock(change->lock_path, change->named);
	return change->lock >= 0;
}

static bool is_link(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

static bool resolve(struct change *change)
{
	char *file = file_follow(change->named);

	change->path = file ? realpath(file, NULL) : NULL;
	free(file);
	if (!change->path) {
		command_error("%s: cannot be opened: %s", change->named, file_reason(-errno));
		return false;
	}
	if (asprintf(&change->backup, "%s~", is_link(change->named) ? change->path : change->named) < 0) {
		change->backup = NULL;
		command_error("out of memory");
	}
	return change->backup;
}

static void note_link(const struct change *change)
{
	struct stat info;

	if (is_link(change->named))
		command_note("%s is a symbolic link: this changes %s", change->named, change->path);
	if (stat(change->path, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1)
		command_note("%s has another hard link, which keeps the old content", change->named);
}

/* Returns the name of the binary table: DST, the director's table, or that of the JSON table with .bin instead of
 * .json. */
static char *binary_name(const struct change *change, const char *dst)
{
	size_t size = strlen(change->named);
	char *name;

	if (*dst)
		return strdup(dst);
	if (file_is_same(change->named, INSTALLED_TABLE_SOURCE))
		return strdup(INSTALLED_TABLE);
	if (size > 5 && strcmp(change->named + size - 5, ".json") == 0)
		size -= 5;
	return asprintf(&name, "%.*s.bin", (int)size, change->named) < 0 ? NULL : name;
}

/* Refuses a file that glb-healthcheck overwrites, and a binary table that a running one builds from its own
 * JSON table. */
static bool avoid_healthcheck(const struct change *change, const struct command_args *args)
{
	const struct healthcheck_files *files = &change->healthcheck;
	char *binary = args->options[CHANGE_BUILD] ? binary_name(change, args->options[CHANGE_BUILD]) : NULL;
	bool builds = binary && files->build && file_is_same(files->build, binary) && file_is_locked(binary);
	bool writes = healthcheck_files_has_output(files, change->path);

	if (writes)
		command_error("%s: glb-healthcheck writes this file: change its source%s%s instead, or give --force",
			change->named, files->src ? " " : ", `src` in healthcheck.conf,", files->src ? files->src : "");
	else if (builds)
		command_error(
			"%s: glb-healthcheck builds this file, with the results of its checks: leave out --build, or give --force",
			binary);
	free(binary);
	return !writes && !builds;
}

static bool parse_before(struct change *change)
{
	const struct json_edit *text = &change->before;
	bool parsed;

	change->known = (struct faults){.file = change->named};
	parsed = table_json_parse_tolerant(text->text, text->size, &change->old, &change->known) == 0;
	change->thorough = change->known.thorough;
	return parsed;
}

bool change_open(struct change *change, const char *path, const struct command_args *args)
{
	struct faults faults = {.file = path};

	*change = (struct change){.named = path, .lock = -1};
	if (!resolve(change) || (!args->options[CHANGE_DRY_RUN] && !lock_file(change)))
		return false;
	note_link(change);
	healthcheck_files_read(INSTALLED_HEALTHCHECK_CONF, &change->healthcheck);
	if (!args->options[CHANGE_FORCE] && !avoid_healthcheck(change, args))
		return false;
	if (table_load_text(change->path, &change->before.text, &change->before.size, &faults) || !parse_before(change)) {
		cli_print_faults(faults.errors ? &faults : &change->known, FAULTS_ERRORS);
		command_error("%s: only a valid JSON table can be changed", path);
		return false;
	}
	change->after.size = change->before.size;
	change->after.text = strdup(change->before.text);
	if (!change->after.text)
		command_error("out of memory");
	return change->after.text;
}

void change_close(struct change *change)
{
	if (change->lock >= 0)
		file_unlock(change->lock_path, change->lock);
	free(change->lock_path);
	table_document_free(&change->old);
	faults_clear(&change->known);
	healthcheck_files_free(&change->healthcheck);
	free(change->ended);
	free(change->before.text);
	free(change->after.text);
	free(change->backup);
	free(change->path);
}

/* Returns a fault's text after file, line and column. */
static const char *without_place(const char *text, const char *file)
{
	const char *after = strstr(text + strlen(file), ": ");

	return after ? after : text;
}

/* The file and the change whose faults are printed. */
struct printing {
	const struct change *change;
	const char *file;
};

/* Prints errors, and the warnings that the file did not have before the change. */
static void print_news(void *context, bool warning, const char *text)
{
	const struct printing *printing = context;
	const struct faults *known = &printing->change->known;
	const char *message = without_place(text, printing->file);

	for (size_t i = 0; warning && i < known->count; i++)
		if (strcmp(without_place(known->items[i].text, known->file), message) == 0)
			return;
	command_fault(NULL, warning, text);
}

/* Parses the new text. Prints faults of these kinds, which name places in the new text. */
static bool parse_after(const struct change *change, struct table_document *new, enum faults_kinds kinds)
{
	struct faults faults = {.thorough = change->thorough};
	struct printing printing = {.change = change};
	char *file = NULL;
	bool valid = false;

	if (change->after.size > TABLE_LOAD_MAX_JSON) {
		command_error("%s: nothing is changed, because the result would have %zu bytes; a table has at most %zu",
			change->named, change->after.size, TABLE_LOAD_MAX_JSON);
		return false;
	}
	if (asprintf(&file, "%s, as changed", change->named) >= 0) {
		faults.file = printing.file = file;
		valid = table_json_parse_document(change->after.text, change->after.size, new, &faults) == 0;
		faults_report(&faults, kinds, print_news, &printing);
		faults_clear(&faults);
		free(file);
	}
	if (!valid)
		command_error("%s: nothing is changed, because the result would not be valid", change->named);
	return valid;
}

/* Refuses a change that loses what table_guard.h protects. With --force, writes the member `replaces`, so that the
 * director and glb-healthcheck accept it, too. */
static bool pass_guard(struct change *change, const struct command_args *args, struct table_document *new)
{
	struct table_guard guard = table_guard_strict(&change->old.set, &new->set, TABLE_GUARD_MAX_SHRINK);
	struct faults faults = {.file = change->named};
	char fingerprint[20];
	bool allowed = table_guard_allows(&guard, &faults), forced = args->options[CHANGE_FORCE];

	if (!allowed && forced) {
		faults_clear(&faults);
		guard.forced = true; /* the losses are warnings */
		table_guard_allows(&guard, &faults);
	}
	cli_print_faults(&faults, FAULTS_ALL);
	if (allowed)
		return true;
	if (!forced) {
		command_error("%s: refused: if you want this, give --force", change->named);
		return false;
	}
	snprintf(fingerprint, sizeof(fingerprint), "\"%016" PRIx64 "\"", table_set_fingerprint(&change->old.set));
	if (!json_edit_set(&change->after, "", "replaces", fingerprint)) {
		command_error("out of memory");
		return false;
	}
	table_document_free(new);
	return parse_after(change, new, FAULTS_ERRORS);
}

static int refuse(const struct change *change, const struct table_set_diff *diff, double limit)
{
	/* In hundredths of a percent, rounded up, so that the suggested value is enough. */
	uint64_t enough = ((uint64_t)diff->broken * 10000 + diff->rows - 1) / diff->rows;
	char broken[16];

	fflush(stdout);
	command_error("%s: refused: %s of the rows break, so their connections end; %.2f%% are allowed", change->named,
		diff_percent_text(diff->broken, diff->rows, broken), limit);
	command_error(
		"to keep connections, change one proxy at a time, drain a proxy until its connections have ended, and let the connections of a bind end before you remove it; to allow this change, add --max-broken %" PRIu64
		".%02" PRIu64,
		enough / 100, enough % 100);
	return CLI_BROKEN;
}

bool change_add_ended(struct change *change, uint32_t table, uint32_t index)
{
	struct table_backend **ended = realloc(change->ended, (change->ended_count + 1) * sizeof(struct table_backend *));

	if (!ended)
		return command_error("out of memory") == COMMAND_OK;
	change->ended = ended;
	ended[change->ended_count++] = &change->old.set.tables[table].backends[index];
	return true;
}

/* Builds the rows of the tables that change. Those of the old tables are as if the proxies whose connections have ended
 * were not in them. Returns 0, or -errno. */
static int build_rows(struct change *change, struct table_set *new)
{
	uint8_t *states = malloc(change->ended_count + 1);
	int error = -ENOMEM;

	if (!states)
		return error;
	for (size_t i = 0; i < change->ended_count; i++) {
		states[i] = change->ended[i]->state;
		change->ended[i]->state = TABLE_INACTIVE;
	}
	error = table_set_diff_build(&change->old.set, new, cpus_usable());
	for (size_t i = 0; i < change->ended_count; i++)
		change->ended[i]->state = states[i];
	free(states);
	return error;
}

/* Prints the change, and checks it against --max-broken. Returns the exit code. */
static int show(struct change *change, struct table_document *new, double limit)
{
	struct table_set_diff diff;
	int code = COMMAND_OK;

	if (build_rows(change, &new->set))
		return command_error("%s: cannot compare the rows: out of memory", change->named);
	table_set_diff_create(&diff, &change->old.set, &new->set);
	if (describe_changes(&change->old, new) == 0)
		printf("%s: only comments or other text change\n", change->named);
	diff_print(&diff, DIFF_BACKENDS);
	if (!change->proven && table_diff_percent(diff.broken, diff.rows) > limit)
		code = refuse(change, &diff, limit);
	table_set_diff_free(&diff);
	return code;
}

/* Returns true if the file still has the content that was read. */
static bool is_unchanged(const struct change *change)
{
	struct faults faults = {.file = change->named};
	char *text = NULL;
	size_t size;
	bool same = table_load_text(change->path, &text, &size, &faults) == 0 && size == change->before.size &&
		    memcmp(text, change->before.text, size) == 0;

	if (!same)
		command_error("%s: another program has changed the file since it was read: run the command again",
			change->named);
	free(text);
	faults_clear(&faults);
	return same;
}

static bool write_file(const char *path, const char *like, const struct json_edit *edit)
{
	struct faults faults = {.file = path};
	bool written = file_replace_like(path, like, edit->text, edit->size, &faults) == 0;

	cli_print_faults(&faults, FAULTS_ALL);
	return written;
}

static void warn_about_owner(const struct change *change, const struct stat *old)
{
	struct stat new;

	if (stat(change->path, &new) == 0 && (new.st_uid != old->st_uid || new.st_gid != old->st_gid))
		command_error(
			"warning: %s: its owner was %ju:%ju and is now %ju:%ju, because only root can keep the owner",
			change->named, (uintmax_t)old->st_uid, (uintmax_t)old->st_gid, (uintmax_t) new.st_uid,
			(uintmax_t) new.st_gid);
}

/*
 * Undo writes the new text into the backup, and then both files change places at once: whenever this program is killed,
 * one of them has the version that is taken back. False: the file system or an old kernel cannot do that, or the backup
 * cannot be written.
 */
static bool exchange(const struct change *change, bool *failed)
{
	struct faults faults = {.file = change->path};
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", change->path);
	*failed = !write_file(change->backup, change->path, &change->after);
	if (*failed || renameat2(AT_FDCWD, change->backup, AT_FDCWD, change->path, RENAME_EXCHANGE) < 0)
		return false;
	file_sync_folder(dirname(folder), &faults);
	cli_print_faults(&faults, FAULTS_ALL);
	return true;
}

/* Undo without an exchange. A kill between both steps loses the version that is taken back. */
static bool write_undone(const struct change *change)
{
	if (!write_file(change->path, change->path, &change->after))
		return false;
	return write_file(change->backup, change->path, &change->before) ||
	       command_error("%s: is changed, but %s is not: undo cannot go forward again", change->named,
		       change->backup) == COMMAND_OK;
}

static bool write_both(const struct change *change, enum change_order order, bool force)
{
	const struct output backup = {.path = change->backup, .kind = OUTPUT_JSON_TABLE, .force = force};
	bool written, failed;
	struct stat old;

	/* undo has read the backup as a table. */
	if (order == CHANGE_BACKUP_FIRST && !output_is_safe(&backup))
		return false;
	if (!is_unchanged(change) || stat(change->path, &old) < 0)
		return false;
	if (order == CHANGE_EXCHANGE)
		written = exchange(change, &failed) || (!failed && write_undone(change));
	else
		written = write_file(change->backup, change->path, &change->before) &&
			  write_file(change->path, change->path, &change->after);
	if (!written)
		return false;
	warn_about_owner(change, &old);
	printf("%s: %s; the previous version is in %s\n", change->named,
		order == CHANGE_BACKUP_FIRST ? "written" : "the last edit is taken back", change->backup);
	if (change->healthcheck.src && file_is_same(change->healthcheck.src, change->path))
		printf("%s: glb-healthcheck reads this file: while it runs, it builds the table and reloads the director\n",
			change->named);
	return true;
}

/* Returns the advice for a written file and a later step that failed. The same undo again would take the
 * edit forward. */
static const char *remedy(enum change_order order)
{
	return order == CHANGE_BACKUP_FIRST
		       ? "correct the cause and run the same command again, or take the change back with undo"
		       : "correct the cause and run build-config and reload; do not run undo again, because it would bring the edit back";
}

static int build(const struct change *change, const char *dst, enum change_order order)
{
	char *name = binary_name(change, dst);
	int code = name ? cli_build_config(change->named, name) : command_error("out of memory");

	if (code != COMMAND_OK)
		command_error("%s is not built from %s, and the director was not told: %s",
			name ? name : "the binary table", change->named, remedy(order));
	else
		printf("%s: built\n", name);
	free(name);
	return code;
}

/* Builds and reloads, as the options say. */
static int roll_out(const struct change *change, const struct command_args *args, enum change_order order)
{
	int code = COMMAND_OK;

	if (args->options[CHANGE_BUILD])
		code = build(change, args->options[CHANGE_BUILD], order);
	if (code != COMMAND_OK || !args->options[CHANGE_RELOAD])
		return code;
	fflush(stdout);
	code = cli_reload(args);
	if (code != COMMAND_OK)
		command_error("%s: the director still uses the table that it had: %s", change->named, remedy(order));
	return code == COMMAND_OK ? COMMAND_OK : COMMAND_FAILED;
}

/* Updates the previous states of the tables, and parses the text again if they have changed. */
static bool update_history(struct change *change, struct table_document *new, uint32_t keep_s)
{
	bool changed = false;

	if (!history_update(change, new, keep_s, &changed))
		return false;
	if (!changed)
		return true;
	table_document_free(new);
	return parse_after(change, new, FAULTS_ERRORS);
}

int change_finish(struct change *change, const struct command_args *args, enum change_order order)
{
	struct table_document new = {0};
	bool dry_run = args->options[CHANGE_DRY_RUN];
	const char *text = args->options[CHANGE_MAX_BROKEN];
	double limit = 0.0;
	int code = COMMAND_FAILED;
	uint32_t keep_s;

	if (!history_keep(args, &keep_s))
		return COMMAND_USAGE;
	if (text && !text_percent(text, &limit))
		return command_usage("--max-broken: '%s' is not a percentage from 0 to 100, such as 5 or 0.25", text);
	if (strcmp(change->before.text, change->after.text) == 0) {
		printf("%s: nothing to do\n", change->named);
		return dry_run ? COMMAND_OK : roll_out(change, args, order);
	}
	if (parse_after(change, &new, FAULTS_ALL) && update_history(change, &new, keep_s) &&
		pass_guard(change, args, &new))
		code = show(change, &new, limit);
	table_document_free(&new);
	if (code != COMMAND_OK)
		return code;
	if (dry_run) {
		printf("%s: nothing is written, because of --dry-run\n", change->named);
		return COMMAND_OK;
	}
	if (fflush(stdout) != 0)
		return command_error("%s: nothing is written, because the change cannot be shown", change->named);
	signal(SIGPIPE, SIG_IGN); /* `edit ... --reload | head` must not end between the write and the reload */
	return write_both(change, order, args->options[CHANGE_FORCE]) ? roll_out(change, args, order) : COMMAND_FAILED;
}
