/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/control/control.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "director/bifurcation.h"
#include "director/control/announce.h"
#include "director/control/live_next_hops.h"
#include "director/health/health_watch.h"
#include "director/nexthop/nexthop.h"
#include "director/ports/exception.h"
#include "director/ports/port_macs.h"
#include "director/ports/port_recovery.h"
#include "director/reload/reload_guard.h"
#include "director/reload/reload_next_hops.h"
#include "director/thread.h"
#include "director/workers.h"
#include "program/log.h"
#include "program/service.h"
#include "worker/worker.h"

#define TICK_US           UINT64_C(1000000)
#define EVENT_INTERVAL_MS 100
#define STALE_TICKS       10 /* telemetry trusts an evaluation of the health for so long */

#define STEP_US UINT64_C(100000) /* while another thread works: changes of next hops are used after this time */

/* How long a reload waits for the MACs of new backends, and how often it looks for them. */
#define RESOLVE_MS      2000
#define RESOLVE_STEP_US 10000

/* Requests for a reload: telemetry threads make them and wait, and the control thread serves them. */
struct requests {
	int fd; /* eventfd, readable when there are requests */
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t completion;
	uint64_t requested; /* number of requests */
	bool force; /* one of the requests that wait wants any valid table */
	uint64_t completed; /* the outcome is valid for the requests up to this number */
	struct control_outcome outcome;
};

struct control {
	struct director *director;
	pthread_t thread;
	int epoll, signals, timer, stop_timer;
	struct requests requests;
	struct announced announced;
	uint64_t watchdog_us, tick_us;
};

/* Returns 0, or an errno. */
static int requests_open(struct requests *requests)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&requests->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&requests->completion, &attributes);
	pthread_condattr_destroy(&attributes);
	requests->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return requests->fd < 0 ? errno : 0;
}

/* Takes all requests. Returns the number of the last one, or 0 if there are none. *force: one of them has it. */
static uint64_t requests_take(struct requests *requests, bool *force)
{
	uint64_t count, number;

	if (read(requests->fd, &count, sizeof(count)) < 0)
		return 0;
	pthread_mutex_lock(&requests->lock);
	number = requests->requested;
	*force = requests->force;
	requests->force = false;
	pthread_mutex_unlock(&requests->lock);
	return number;
}

/* Reports the outcome of a reload to all that made a request up to this number. */
static void requests_complete(struct requests *requests, uint64_t number, const struct reload *reload)
{
	pthread_mutex_lock(&requests->lock);
	requests->outcome.generation = reload->shared->live->generation;
	requests->outcome.digest = reload->shared->live->routes->digest;
	memcpy(requests->outcome.error, reload->last_error, sizeof(requests->outcome.error));
	requests->completed = number;
	pthread_cond_broadcast(&requests->completion);
	pthread_mutex_unlock(&requests->lock);
}

/* Wakes all that wait, because the director is stopping. */
static void requests_wake(struct requests *requests)
{
	pthread_mutex_lock(&requests->lock);
	pthread_cond_broadcast(&requests->completion);
	pthread_mutex_unlock(&requests->lock);
}

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
	signal(SIGPIPE, SIG_IGN); /* the director must not die when the reader of its log does */
}

/* Collects what the workers have noted about routers that cannot forward the director's packets. */
static void collect_underlay(struct director *director)
{
	char text[UNDERLAY_REPORT_TEXT];
	struct underlay_note note;

	for (uint16_t i = 0; i < director->workers.count; i++)
		for (unsigned n = 0;
			n < UNDERLAY_NOTES && underlay_notes_take(&director->workers.list[i]->underlay_notes, &note); n++)
			underlay_report_add(&director->underlay, &note, clock_now_ms());
	if (underlay_report_tick(&director->underlay, director->conf.steering.outbound_mtu, clock_now_ms(), text))
		log_warning("%s", text);
}

static void evaluate(struct control *control)
{
	announce_health(&control->announced, control->director, health_watch_evaluate(&control->director->watch));
}

static void take_tick(struct control *control)
{
	uint64_t count;

	if (read(control->timer, &count, sizeof(count)) < 0)
		return;
	reload_next_hops_collect(&control->director->reload);
	exception_follow(&control->director->ports);
	port_macs_follow(&control->director->ports);
	collect_underlay(control->director);
	reload_guard_sample(&control->director->reload, RELOAD_GUARD_BACKENDS);
	if (health_watch_tick(&control->director->watch) && control->watchdog_us)
		service_alive();
	evaluate(control);
}

static void *load(void *director)
{
	return reload_load(&((struct director *)director)->reload, false);
}

static void *load_forced(void *director)
{
	return reload_load(&((struct director *)director)->reload, true);
}

static void *finish(void *director)
{
	reload_finish(&((struct director *)director)->reload);
	return NULL;
}

/*
 * Lets another thread call the function, while this one goes on with its ticks. The function may take longer than the
 * watchdog waits for a sign of life: if it builds the rows of a large JSON table, or waits for a worker.
 */
static void *run_beside(struct control *control, void *(*function)(void *director))
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, function, control->director))
		return function(control->director);
	for (;;) {
		struct timespec until = clock_timespec(clock_now_us() + STEP_US);

		if (pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &until) == 0)
			return result;
		live_next_hops_settle(control->director);
		take_tick(control);
	}
}

/* Waits until the next hops of a new table are known, but not for long: a backend may be switched off. */
static void resolve(struct control *control, const struct routes *routes)
{
	uint64_t end = clock_now_ms() + RESOLVE_MS;

	if (control->director->nexthop)
		nexthop_prepare(control->director->nexthop, routes);
	while (!live_next_hops_settle(control->director) && clock_now_ms() < end) {
		usleep(RESOLVE_STEP_US);
		take_tick(control);
	}
}

static int reload_table(struct control *control, bool force)
{
	struct director *director = control->director;
	struct live_table *live = run_beside(control, force ? load_forced : load);
	int error = -EINVAL;

	if (live) {
		resolve(control, live->routes);
		error = reload_publish(&director->reload, live);
		if (director->nexthop)
			nexthop_follow(director->nexthop, director->shared.live->routes);
	}
	if (!error)
		run_beside(control, finish);
	return error;
}

static void reload(struct control *control, bool force)
{
	struct director *director = control->director;

	announce_reload(&control->announced);
	if (reload_table(control, force) == 0) {
		bifurcation_follow(director);
		director_lint_table(director);
	}
	evaluate(control);
	announce_reloaded(&control->announced, director);
}

static void stop_now(struct control *control)
{
	__atomic_store_n(&control->director->shared.stop, true, __ATOMIC_RELAXED);
}

/* Stops after stop_delay_ms, in which routing daemons can see that the director stops; or at once if it is stopping
 * already. */
static void stop(struct control *control, const char *signal)
{
	struct director *director = control->director;
	unsigned delay_ms = director->conf.stop_delay_ms;
	struct itimerspec setting = {.it_value = clock_timespec(delay_ms * UINT64_C(1000))};

	if (director->watch.health.state == HEALTH_STOPPING || !delay_ms) {
		log_notice("signal %s: stopping", signal);
		delay_ms = 0;
	} else {
		log_notice("signal %s: stopping in %u ms; another signal stops at once", signal, delay_ms);
	}
	health_stop(&director->watch.health, (uint64_t)time(NULL));
	announce_stop(&control->announced, delay_ms);
	if (!delay_ms || timerfd_settime(control->stop_timer, 0, &setting, NULL))
		stop_now(control);
}

static void take_signal(struct control *control)
{
	struct signalfd_siginfo info;

	if (read(control->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP || info.ssi_signo == SIGUSR1) {
		reload(control, false);
		return;
	}
	stop(control, sigabbrev_np((int)info.ssi_signo));
}

/* Reloads once for all requests that were made before the reload began. */
static void take_requests(struct control *control)
{
	bool force = false;
	uint64_t number = requests_take(&control->requests, &force);

	if (!number)
		return;
	reload(control, force);
	requests_complete(&control->requests, number, &control->director->reload);
}

bool control_reload(struct control *control, bool force, unsigned timeout_ms, struct control_outcome *outcome)
{
	struct timespec until = clock_timespec(clock_now_us() + timeout_ms * UINT64_C(1000));
	struct requests *requests = &control->requests;
	uint64_t one = 1, ticket;
	bool done;
	int error = 0;

	pthread_mutex_lock(&requests->lock);
	ticket = ++requests->requested;
	if (write(requests->fd, &one, sizeof(one)) < 0)
		error = errno;
	else
		requests->force |= force;
	while (!error && requests->completed < ticket && !worker_shared_stopping(&control->director->shared))
		error = pthread_cond_timedwait(&requests->completion, &requests->lock, &until);
	done = requests->completed >= ticket;
	if (done)
		*outcome = requests->outcome;
	pthread_mutex_unlock(&requests->lock);
	return done;
}

/* Evaluates the health after an event that may have changed it, unless the next tick is soon enough because there are
 * many events. */
static void evaluate_soon(struct control *control)
{
	if (clock_now_ms() - control->director->watch.health.evaluated_ms >= EVENT_INTERVAL_MS)
		evaluate(control);
}

static void recover_ports(struct control *control)
{
	enum port_recovery_found found = port_recovery_step(&control->director->ports);

	if (found == PORT_RECOVERY_DONE)
		evaluate(control);
	else if (found == PORT_RECOVERY_EVENTS)
		evaluate_soon(control);
}

/* The service manager cannot reload a unit that is starting, and the director may need another table to be ready. */
static void follow_file(struct control *control)
{
	const struct reload *state = &control->director->reload;

	if (control->director->watch.health.state != HEALTH_STARTING || !reload_is_due(state))
		return;
	log_notice("forwarding table %s has changed while the director is starting", state->path);
	reload(control, false);
}

/* Other ticks, during a reload, must not begin another one. */
static void take_timer(struct control *control)
{
	take_tick(control);
	follow_file(control);
}

static void *control_run(void *argument)
{
	struct control *control = argument;

	evaluate(control);
	while (!worker_shared_stopping(&control->director->shared)) {
		struct epoll_event event;

		if (epoll_wait(control->epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == control->signals)
			take_signal(control);
		else if (event.data.fd == control->requests.fd)
			take_requests(control);
		else if (event.data.fd == control->timer)
			take_timer(control);
		else if (event.data.fd == control->stop_timer)
			stop_now(control);
		else if (event.data.fd != port_recovery_descriptor(&control->director->ports) &&
			 nexthop_step(control->director->nexthop))
			evaluate_soon(control);
		recover_ports(control);
	}
	requests_wake(&control->requests);
	return NULL;
}

/* Returns the interval of ticks: a second, or half of the watchdog's interval if that is shorter. */
static uint64_t tick_of(uint64_t watchdog_us)
{
	return watchdog_us && watchdog_us / 2 < TICK_US ? watchdog_us / 2 : TICK_US;
}

static int open_timer(uint64_t us)
{
	struct timespec interval = clock_timespec(us);
	struct itimerspec setting = {.it_interval = interval, .it_value = interval};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		timerfd_settime(fd, 0, &setting, NULL);
	return fd;
}

static bool watch(struct control *control, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return fd >= 0 && epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void control_free(struct control *control)
{
	int fds[] = {control->epoll, control->signals, control->timer, control->stop_timer, control->requests.fd};

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	nexthop_close(control->director->nexthop);
	control->director->nexthop = NULL;
	free(control);
}

static int open_all(struct control *control)
{
	sigset_t set = handled_signals();
	struct director *director = control->director;
	int error;

	control->watchdog_us = service_watchdog_us();
	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	control->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	control->tick_us = tick_of(control->watchdog_us);
	control->timer = open_timer(control->tick_us);
	director->watch.health.stale_ms = STALE_TICKS * control->tick_us / 1000;
	control->stop_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	error = requests_open(&control->requests);
	if (error)
		return error;
	return watch(control, port_recovery_descriptor(&director->ports)) && watch(control, control->signals) &&
			       watch(control, control->requests.fd) && watch(control, control->timer) &&
			       watch(control, control->stop_timer)
		       ? 0
		       : errno;
}

struct control *control_start(struct director *director, const cpu_set_t *cpus)
{
	struct control *control = calloc(1, sizeof(*control));
	int error;

	if (!control) {
		log_error("control thread: cannot be started: out of memory");
		return NULL;
	}
	control->director = director;
	health_watch_begin(&director->watch);
	error = open_all(control);
	if (!error)
		error = -live_next_hops_open(director);
	if (!error && director->nexthop && !watch(control, nexthop_descriptor(director->nexthop)))
		error = errno;
	if (!error)
		error = thread_start(&control->thread, "control", cpus, control_run, control);
	if (error) {
		log_error("control thread: cannot be started: %s", strerror(error));
		control_free(control);
		return NULL;
	}
	return control;
}

void control_wait(struct control *control)
{
	pthread_join(control->thread, NULL);
}
