/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of the subcommand edit. Each changes edit->change.after and nothing else. One thread. */
#pragma once

#include "cli/edit/change.h"

enum {
	EDIT_TABLE = CHANGE_OPTIONS,
	EDIT_ALL_TABLES,
	EDIT_STATE,
	EDIT_COPY_CHECKS,
	EDIT_PROXIES,
	EDIT_WAIT,
};

/* forget --proxies: seconds between the two readings */
#define EDIT_WAIT_S     60
#define EDIT_MAX_WAIT_S (24 * 3600)

struct edit {
	struct change change;
	char **operands; /* after the verb; they are checked */
	int count;
	const struct command_args *args; /* the whole command line */
	const char *state, *copy_checks_from; /* of add; copy_checks_from may be NULL */
	int failed; /* the exit code if the verb fails */
	bool selected[TABLE_MAX_TABLES]; /* the tables that may be changed */
	bool unique; /* each operand may mean one table only */
};

/* Check the operands of verbs, see struct verb in edit.c. */
int edit_check_addresses(const char *verb, char **operands, int count);
int edit_check_settings(const char *verb, char **operands, int count);
int edit_check_balance(const char *verb, char **operands, int count);
int edit_check_forget(const char *verb, char **operands, int count);
int edit_check_binds(const char *verb, char **operands, int count);
int edit_check_add_quic(const char *verb, char **operands, int count);
int edit_check_remove_quic(const char *verb, char **operands, int count);

/* Prints the keys that the verbs set and add-quic take, for --help. */
void edit_print_keys(void);

/* The verbs. False, with an error: nothing may be written. */
bool edit_add(struct edit *edit);
bool edit_remove(struct edit *edit);
bool edit_drain(struct edit *edit);
bool edit_undrain(struct edit *edit);
bool edit_set(struct edit *edit);
bool edit_balance(struct edit *edit);
bool edit_forget(struct edit *edit);
bool edit_add_bind(struct edit *edit);
bool edit_remove_bind(struct edit *edit);
bool edit_add_quic(struct edit *edit);
bool edit_remove_quic(struct edit *edit);

/* Applies the operands KEY=VALUE to the QUIC configuration at the path. False: out of memory. */
bool edit_set_quic(struct edit *edit, const char *path);

/* What a verb does with backend `b` of table `t`. False, with an error: nothing may be written. */
typedef bool edit_visit(struct edit *edit, uint32_t t, uint32_t b, void *context);

/*
 * Calls `visit` for each backend that the first `count` operands name, in each selected table that has it: backwards,
 * so that a visit may remove the backend. False, with an error: the choice of tables is not clear, or a visit failed.
 */
bool edit_each_backend(struct edit *edit, int count, edit_visit *visit, void *context);

/* The same for binds; `b` is the index of a bind. */
bool edit_each_bind(struct edit *edit, int count, edit_visit *visit);

/* Prints an error and returns false if the selection is not clear enough to change tables as a whole. */
bool edit_needs_one_table(const struct edit *edit);

/* Prints an error and returns false unless the operand, a backend or a bind (`what`), is in a clear choice
 * of tables. */
bool edit_check_matches(const struct edit *edit, const char *what, const char *operand, const bool *matches);

/* Prints an error about memory, and returns false. */
bool edit_failed(const struct edit *edit);
