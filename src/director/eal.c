/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/eal.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_log.h>

#include "program/log.h"

/*
 * EAL's first lines: what it found, then what is wrong with an option. They are held back until EAL has read its
 * options, so that our error comes first. EAL does nothing else before, so nothing is held back if it hangs or crashes.
 */
static struct {
	char lines[2048];
	size_t size;
	bool holding, refused;
	char **argv;
} start;

static void release(void)
{
	start.holding = false;
	if (start.size && write(STDERR_FILENO, start.lines, start.size) < 0)
		return; /* there is no place to report this error */
	start.size = 0;
}

/* Receives EAL's log. The first line after the options, or more lines than expected, end the holding. */
static ssize_t take(void *, const char *text, size_t size)
{
	static const char after[] = " linkage of DPDK";

	if (start.refused) /* it only repeats that it failed */
		return (ssize_t)size;
	if (start.holding && !memmem(text, size, after, sizeof(after) - 1) && start.size + size <= sizeof(start.lines)) {
		memcpy(start.lines + start.size, text, size);
		start.size += size;
		return (ssize_t)size;
	}
	release();
	return write(STDERR_FILENO, text, size);
}

/* Joins what the held lines say about the options: "lcore 77 unavailable; invalid core list". */
static void explain(char *text, size_t size)
{
	char *rest = start.lines, *line;

	text[0] = '\0';
	start.lines[start.size < sizeof(start.lines) ? start.size : sizeof(start.lines) - 1] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		const char *message = strncmp(line, "EAL: ", 5) == 0 ? line + 5 : line;
		size_t used = strlen(text);

		if (*message && strncmp(message, "Detected ", 9) != 0)
			snprintf(text + used, size - used, "%s%s", used ? "; " : "", message);
	}
}

static void redirect(int from, int to)
{
	if (from >= 0) {
		dup2(from, to);
		close(from);
	}
}

static void discard(int fd)
{
	redirect(open("/dev/null", O_WRONLY | O_CLOEXEC), fd);
}

/* EAL calls this at the end of its usage text, which it prints if an option is wrong. What follows only says that it
 * failed. */
static void refuse(const char *)
{
	char reason[512];

	start.refused = true;
	explain(reason, sizeof(reason));
	if (reason[0])
		log_error("EAL refuses the options before --: %s", reason);
	else
		log_error("EAL refuses the options before --: it does not know '%s', or that needs a value",
			start.argv[optind - 1]);
	discard(STDERR_FILENO);
}

/* Runs rte_eal_init() without its usage text, which has a hundred lines. */
static int init(int argc, char **argv)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), result;

	fflush(stdout);
	discard(STDOUT_FILENO);
	result = rte_eal_init(argc, argv);
	fflush(stdout);
	redirect(out, STDOUT_FILENO);
	redirect(err, STDERR_FILENO);
	return result;
}

int eal_start(int argc, char **argv)
{
	FILE *log = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
	int show_errors = opterr, result;

	start.argv = argv;
	start.holding = log;
	if (log) {
		setvbuf(log, NULL, _IOLBF, 0);
		rte_openlog_stream(log);
	}
	opterr = 0; /* getopt would print the name of a wrong option a second time */
	rte_set_application_usage_hook(refuse);
	result = init(argc, argv);
	opterr = show_errors;
	rte_openlog_stream(NULL); /* `log` stays open, because a thread of EAL may be writing to it */
	if (start.refused)
		return -EINVAL;
	release();
	return result < 0 ? -EIO : 0;
}
