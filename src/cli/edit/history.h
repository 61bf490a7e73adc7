/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The member `previous` of tables: a change that moves first hops puts the state before it there, and states that are
 * old leave it. The functions change change->after and print what is forgotten, and errors. One thread.
 */
#pragma once

#include "cli/edit/change.h"

#define HISTORY_KEEP_S (24 * 3600)

/* Reads --keep. False: a usage error was printed. */
bool history_keep(const struct command_args *args, uint32_t *keep_s);

/* Updates `previous` of each table whose state differs between change->old and `new`. Sets *changed if there is one. */
bool history_update(struct change *change, const struct table_document *new, uint32_t keep_s, bool *changed);

/* Removes the states that are older than keep_s from `previous` of table t. */
bool history_forget_old(struct change *change, uint32_t t, uint32_t keep_s);

/* Keeps only the newest `count` states of table t. */
bool history_keep_newest(struct change *change, uint32_t t, uint32_t count);
