/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for the operator on stderr. Each is one line and one write(2): "PROGRAM: LEVEL: TEXT", or with the prefixes
 * of sd-daemon(3) if stderr is the journal. Any thread may log. Workers may only use log_limited(), because it writes
 * at most one line a second. When nobody reads stderr, the first line waits a second, and it and the next ones are
 * lost: the next line that is read is preceded by their number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"

enum log_level { /* the numbers of syslog(3) */
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* Call it before other threads log. `program` is borrowed. `debug`: log debug messages, too. */
void log_open(const char *program, bool debug);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Logs errors as LOG_LEVEL_ERROR and warnings as LOG_LEVEL_WARNING, if `kinds` has them. Then clears all faults. */
void log_faults(struct faults *faults, enum faults_kinds kinds);

/* Returns true at most once a second for each *last, which the caller sets to 0 before the first call. Thread-safe. */
bool log_due(uint64_t *last);

/* Logs at most one line a second from each place in the code, and drops the others. */
#define log_limited(level, ...)                       \
	do {                                          \
		static uint64_t log_last;             \
		if (log_due(&log_last))               \
			log_line(level, __VA_ARGS__); \
	} while (0)
