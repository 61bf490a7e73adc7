/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the clock. */
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <time.h>

#include "cli/doctor/doctor.h"

#define CLOCKSOURCE  "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define MAX_FUTURE_S 60

static const struct finding slow = {FINDINGS_WARN, NULL,
	"the kernel does not trust the CPU's time stamp counter and uses this slow clock: dmesg has the reason; the firmware or the hypervisor must mend it"};
static const struct finding unsynchronised = {FINDINGS_WARN, "timedatectl set-ntp true",
	"the clock is not synchronised, so logs of different hosts cannot be compared, and health checks can take certificates for expired"};
static const struct finding future = {FINDINGS_WARN, "touch {0}",
	"its time is in the future, so the clock of this host jumped back, or another host with a wrong clock wrote the file"};

static void report_source(const struct doctor *doctor)
{
	/* The clocks that a program reads without a system call. */
	static const char *const fast[] = {
		"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc"};
	char source[HOST_LINE_MAX];

	if (!host_line(host_path(&doctor->host, CLOCKSOURCE), source))
		return;
	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++)
		if (strcmp(source, fast[i]) == 0)
			return;
	findings_add(&slow, source);
}

static void report_future(const char *path)
{
	struct stat file;

	if (stat(path, &file) == 0 && file.st_mtime > time(NULL) + MAX_FUTURE_S)
		findings_add(&future, path);
}

static const char *yes_if(bool looked)
{
	return looked ? "yes" : "not known";
}

/* Says of each part of the check whether it could look. */
static void say_healthy(const struct doctor *doctor)
{
	bool has_source = host_exists(host_path(&doctor->host, CLOCKSOURCE));
	bool has_files = host_exists(doctor->conf_path) || host_exists(doctor->table_path);

	if (!has_source && !has_files && doctor->is_copy)
		findings_ok("", "not known: this copy has neither a clock nor the director's files");
	else
		findings_ok("", "synchronised: %s; fast: %s; not behind the times of the director's files: %s",
			yes_if(!doctor->is_copy), yes_if(has_source), yes_if(has_files));
}

void doctor_clock(void *subject)
{
	const struct doctor *doctor = subject;
	struct timex state = {0};

	report_source(doctor);
	if (!doctor->is_copy && adjtimex(&state) >= 0 && state.status & STA_UNSYNC)
		findings_add(&unsynchronised, "");
	report_future(doctor->conf_path);
	report_future(doctor->table_path);
	if (findings_none())
		say_healthy(doctor);
}
