/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a file that a program kept for its next start, by the first byte: a disk damages it, an operator edits
 * it, or another version wrote it.
 */
#include "announce/operator_switch.h"
#include "fleet/state.h"
#include "healthcheck/publish/state_file.h"
#include "program/host/cpu_list.h"
#include "program/log.h"
#include "tests/fuzz/as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __wrap_log_line(enum log_level level, const char *format, ...);

/* The linker puts this in the place of the real one. */
void __wrap_log_line(enum log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

static void read_cpus(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), again[CPU_LIST_TEXT_MAX];
	cpu_set_t cpus, twice;

	if (cpu_list_read(text, &cpus)) {
		cpu_list_text(&cpus, again);
		if (!strstr(again, "...") && (!cpu_list_read(again, &twice) || !CPU_EQUAL(&cpus, &twice)))
			abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = {.file = "f"};
	struct operator_switch operator_switch;
	struct check check = {.name = "tcp 10.0.0.1:22 of web", .target = "tcp 10.0.0.1:22"}, *checks[] = {&check};
	struct checklist list = {.checks = checks, .check_count = 1};
	struct state state;
	char text[300];

	if (size == 0)
		return 0;
	switch (data[0] % 4) {
	case 0:
		operator_switch_read(as_file(data + 1, size - 1), &operator_switch, &faults);
		operator_switch_text(&operator_switch, text);
		break;
	case 1:
		state_read(as_file(data + 1, size - 1), &state);
		break;
	case 2:
		state_file_read(as_file(data + 1, size - 1), &list, &faults);
		break;
	default:
		read_cpus(data + 1, size - 1);
	}
	faults_clear(&faults);
	return 0;
}
