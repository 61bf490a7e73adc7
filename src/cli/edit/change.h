/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A change of a JSON table file, from the lock to the reload; edit and undo share it. The old file is kept as FILE~.
 * One thread. All functions print their errors.
 */
#pragma once

#include "cli/edit/healthcheck_files.h"
#include "cli/telemetry.h"
#include "table/file/json/json_edit.h"
#include "table/file/table_document.h"

struct change {
	const char *named; /* the file as the user names it; borrowed */
	char *path; /* the same without symbolic links */
	char *backup; /* the same with "~", beside the file itself */
	struct healthcheck_files healthcheck;
	char *lock_path; /* what the lock is for: other changes of the file wait */
	int lock; /* -1: none */
	struct table_document old; /* the file before the change */
	struct json_edit before; /* its text */
	struct faults known; /* its warnings */
	bool thorough; /* `check` finds no error in it, and must find none in the result */
	struct json_edit after; /* the text to write; the caller changes it */
	/* Backends of `old` whose connections have ended, so that rows do not break without them. The caller
	 * adds them. */
	struct table_backend **ended;
	size_t ended_count;
	bool proven; /* no connection needs what the rows lose, so --max-broken does not count; set by the caller */
};

/* The first options of every subcommand that changes a table. */
enum {
	CHANGE_MAX_BROKEN = TELEMETRY_OPTIONS,
	CHANGE_DRY_RUN,
	CHANGE_FORCE,
	CHANGE_KEEP,
	CHANGE_BUILD,
	CHANGE_RELOAD,
	CHANGE_OPTIONS,
};

#define CHANGE_OPTION_LIST                                                                                                    \
	TELEMETRY_OPTION_LIST, [CHANGE_MAX_BROKEN] = {"max-broken", "PCT", "let up to PCT % of all rows break (default: 0)"}, \
			       [CHANGE_DRY_RUN] = {"dry-run", NULL, "show the change, and write nothing"},                    \
			       [CHANGE_FORCE] = {"force", NULL, "accept losses, and change a file of glb-healthcheck"},       \
			       [CHANGE_KEEP] = {"keep", "TIME", "forget older previous states (default: 24h; 0: all)"},       \
			       [CHANGE_BUILD] = {"build", "[=DST]", "then build the binary table, TABLE.bin"},                \
			       [CHANGE_RELOAD] = {"reload", NULL, "then make the running director load it"}

enum change_order {
	CHANGE_BACKUP_FIRST,
	CHANGE_EXCHANGE, /* the new text comes from the backup: both files change places */
};

#define CHANGE_LOCK ".edit" /* added to the path of a table: glb-healthcheck has the lock of the file itself */

/* Waits until it has the lock of `path`, with a note about `named`. Returns it, or -1 after an error. */
int change_lock(const char *path, const char *named);

/* Locks (not for --dry-run) and reads the file. False: it cannot be read or is not a valid table; *change must still be
 * closed. */
bool change_open(struct change *change, const char *path, const struct command_args *args);

/* Checks change->after, shows what it does, writes, builds and reloads, as the options say. Returns the exit code. */
int change_finish(struct change *change, const struct command_args *args, enum change_order order);

void change_close(struct change *change);

/* Adds backend `index` of table `table` to change->ended. False: out of memory. */
bool change_add_ended(struct change *change, uint32_t table, uint32_t index);
