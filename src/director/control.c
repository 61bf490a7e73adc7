/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "log.h"
#include "worker.h"

struct control {
	struct director *director;
	pthread_t thread;
	int epoll, signals, wakeup;
};

static sigset_t handled_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

void control_block_signals(void)
{
	sigset_t set = handled_signals();

	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void take_signal(struct control *control)
{
	struct signalfd_siginfo info;

	if (read(control->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP || info.ssi_signo == SIGUSR1) {
		reload_run(&control->director->reload, worker_sum_slot, control->director);
	} else {
		log_notice("signal %s: stopping", sigabbrev_np((int)info.ssi_signo));
		__atomic_store_n(&control->director->stop, true, __ATOMIC_RELAXED);
	}
}

static void take_wakeup(struct control *control)
{
	uint64_t count;

	if (read(control->wakeup, &count, sizeof(count)) < 0)
		return;
}

static void *run(void *argument)
{
	struct control *control = argument;

	while (!director_stopping(control->director)) {
		struct epoll_event event;

		if (epoll_wait(control->epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == control->signals)
			take_signal(control);
		else if (event.data.fd == control->wakeup)
			take_wakeup(control);
	}
	return NULL;
}

static bool watch(struct control *control, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return fd >= 0 && epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void destroy(struct control *control)
{
	int fds[] = {control->epoll, control->signals, control->wakeup};

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(control);
}

struct control *control_start(struct director *director, const cpu_set_t *cpus)
{
	struct control *control = calloc(1, sizeof(*control));
	sigset_t set = handled_signals();
	int error = 0;

	if (!control) {
		log_error("control thread: out of memory");
		return NULL;
	}
	control->director = director;
	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	control->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	control->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!watch(control, control->signals) || !watch(control, control->wakeup))
		error = errno;
	if (!error)
		error = pthread_create(&control->thread, NULL, run, control);
	if (error) {
		log_error("control thread: %s", strerror(error));
		destroy(control);
		return NULL;
	}
	pthread_setname_np(control->thread, "control");
	pthread_setaffinity_np(control->thread, sizeof(*cpus), cpus);
	return control;
}

void control_join(struct control *control)
{
	pthread_join(control->thread, NULL);
	destroy(control);
}
