/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/log.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"

static const char *name = "glb";
static enum log_level threshold = LOG_LEVEL_INFO;
static bool journal;
static uint32_t lost; /* lines, since the last one that was written */

#define PATIENCE_MS 1000 /* for a reader of the log that does not read now */

/* JOURNAL_STREAM names the device and inode of the journal's pipe, as sd-daemon(3) says. It is compared with stderr,
 * because child processes inherit the variable even if their stderr is another file. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[48];
	struct stat info;

	if (!stream || fstat(STDERR_FILENO, &info) < 0)
		return false;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
	return strcmp(stream, own) == 0;
}

void log_open(const char *program, bool debug)
{
	name = program;
	threshold = debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	journal = stderr_is_journal();
}

static void write_line(enum log_level level, const char *format, va_list args)
{
	static const char *const names[] = {
		[LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_WARNING] = "warning",
		[LOG_LEVEL_NOTICE] = "notice",
		[LOG_LEVEL_INFO] = "info",
		[LOG_LEVEL_DEBUG] = "debug",
	};
	char line[1024];
	int size, more;

	size = journal ? snprintf(line, sizeof(line), "<%d>", level)
		       : snprintf(line, sizeof(line), "%s: %s: ", name, names[level]);
	more = vsnprintf(line + size, sizeof(line) - (size_t)size, format, args);
	if (more > 0)
		size += more;
	if ((size_t)size >= sizeof(line))
		size = sizeof(line) - 1; /* the line is cut */
	/* journalctl(1) hides lines that are not valid UTF-8. */
	text_mend(line);
	line[size++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)size) < 0)
		return; /* there is no place to report this error */
}

/*
 * Waits until a line can be written. The reader of the log must not stop the program when it stops reading. So only
 * the first line that it does not read costs time; that line and the next ones are lost.
 */
static bool wait_for_reader(void)
{
	struct pollfd reader = {.fd = STDERR_FILENO, .events = POLLOUT};
	bool stuck = __atomic_load_n(&lost, __ATOMIC_RELAXED);

	if (poll(&reader, 1, stuck ? 0 : PATIENCE_MS) != 0)
		return true;
	__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
	return false;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list args;
	uint32_t count;

	if (level > threshold || !wait_for_reader())
		return;
	count = __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED);
	if (count)
		log_line(LOG_LEVEL_WARNING, "nobody read the log, so %" PRIu32 " line%s %s lost", count,
			text_plural(count), count == 1 ? "is" : "are");
	va_start(args, format);
	write_line(level, format, args);
	va_end(args);
}

static void log_fault(void *, bool warning, const char *text)
{
	log_line(warning ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, "%s", text);
}

void log_faults(struct faults *faults, enum faults_kinds kinds)
{
	faults_report(faults, kinds, log_fault, NULL);
	faults_clear(faults);
}

bool log_due(uint64_t *last)
{
	uint64_t now = clock_coarse_ns(), before = __atomic_load_n(last, __ATOMIC_RELAXED);

	if (before && now - before < CLOCK_NS_PER_S)
		return false;
	return __atomic_compare_exchange_n(last, &before, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
