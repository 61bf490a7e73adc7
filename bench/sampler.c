/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PERIOD_NS   97000 /* should not be a multiple of the time of a pass */
#define MAX_SAMPLES 200000

extern const char __executable_start[], etext[];

static uintptr_t samples[MAX_SAMPLES];
static volatile unsigned sample_count;
static const volatile bool *sampling;
static timer_t timer;

static uintptr_t interrupted(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)context->uc_mcontext.pc;
#else
	(void)context;
	return 0;
#endif
}

static void note(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	if (*sampling && sample_count < MAX_SAMPLES)
		samples[sample_count++] = interrupted(context);
}

void sampler_start(const volatile bool *wanted)
{
	struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};

	event._sigev_un._tid = gettid();
	sampling = wanted;
	sample_count = 0;
	if (sigaction(SIGPROF, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
		timer_settime(timer, 0, &period, NULL)) {
		fprintf(stderr, "cannot start a timer for the profile: %s\n", strerror(errno));
		exit(EXIT_FAILURE);
	}
}

void sampler_stop(FILE *to)
{
	timer_delete(timer);
	for (unsigned i = 0; i < sample_count; i++) {
		uintptr_t at = samples[i], start = (uintptr_t)__executable_start;

		fprintf(to, "%jx\n", (uintmax_t)(at >= start && at < (uintptr_t)etext ? at - start : 0));
	}
}
