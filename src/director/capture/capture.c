/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/capture/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>

#include "director/capture/session.h"
#include "director/thread.h"
#include "program/log.h"

#define REFUSAL_MS 200 /* for the request of a client that is refused */

struct capture {
	struct capture_sources sources;
	pthread_t thread;
	int listener, stop; /* stop: eventfd, written by capture_close() */
	struct sockaddr_un address;
	/* Protects the members below, which only the thread changes. */
	pthread_mutex_t lock;
	struct session *session; /* NULL: no capture runs */
	struct ucred client;
	uint64_t since;
};

/* Returns whether the client may see packets: it is root or the director's user. */
static bool is_allowed(int fd, struct ucred *client)
{
	socklen_t size = sizeof(*client);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, client, &size) == 0 &&
	       (client->uid == 0 || client->uid == geteuid());
}

/* Writes the names of the verdicts, with commas between them; or "all". */
static const char *list_verdicts(uint32_t verdicts, char *text, size_t size)
{
	size_t used = 0;

	if (verdicts == CAPTURE_ALL_VERDICTS)
		return "all";
	for (unsigned verdict = 0; verdict <= CAPTURE_RETURNED && used < size; verdict++) {
		const char *name = verdict < VERDICT_COUNT ? verdict_name((enum verdict)verdict) : "exception_returned";

		if (verdicts >> verdict & 1)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", name);
	}
	return text;
}

static void log_start(const struct session *session, const struct ucred *client)
{
	const struct capture_request *request = &session->request;
	char verdicts[512];

	/* The filter is last, because a long line is cut. */
	log_notice(
		"capture: started for process %d of user %u: at most %u packets and %u s, verdicts %s, table '%s', filter '%s'",
		(int)client->pid, (unsigned)client->uid, request->count, request->seconds,
		list_verdicts(request->verdicts, verdicts, sizeof(verdicts)), request->table, request->filter);
}

/* Starts a capture for the client, or tells it why not. */
static void begin(struct capture *capture, int fd, const struct ucred *client)
{
	struct session *session = malloc(sizeof(*session));

	if (!session || !session_start(session, &capture->sources, fd)) {
		free(session);
		close(fd);
		return;
	}
	log_start(session, client);
	pthread_mutex_lock(&capture->lock);
	capture->session = session;
	capture->client = *client;
	capture->since = (uint64_t)time(NULL);
	pthread_mutex_unlock(&capture->lock);
}

static void take_client(struct capture *capture)
{
	static struct capture_request unused;
	int fd = accept4(capture->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred client;
	bool allowed, received;

	if (fd < 0)
		return;
	allowed = is_allowed(fd, &client);
	if (allowed && !capture->session) {
		begin(capture, fd, &client);
		return;
	}
	/* The request is received first: if it were still unread when fd is closed, the client would not get the
	 * reason. A capture that runs does not wait for long. */
	received = session_receive(fd, REFUSAL_MS, &unused);
	if (received && !allowed)
		session_refuse(fd, "permission denied: run this command as root or as the director's user");
	else if (received)
		session_refuse(fd,
			"process %d of user %u is capturing already: wait until that capture has ended, or end it",
			(int)capture->client.pid, (unsigned)capture->client.uid);
	close(fd);
}

static void end(struct capture *capture, enum capture_reason reason)
{
	static const char *const texts[] = {
		[CAPTURE_ASKED] = "the client asked for it",
		[CAPTURE_COUNT_REACHED] = "it has all packets that the client asked for",
		[CAPTURE_TIME_REACHED] = "the time is over",
		[CAPTURE_STOPPING] = "the director stops",
		[CAPTURE_CLIENT_GONE] = "the client has ended or does not read",
	};
	struct session *session = capture->session;
	struct capture_counters counters;

	pthread_mutex_lock(&capture->lock);
	capture->session = NULL;
	pthread_mutex_unlock(&capture->lock);
	counters = session_result(session);
	session_end(session, reason);
	log_notice("capture: ended after %" PRIu64 " packets, because %s; %" PRIu64 " lost, %" PRIu64 " not examined",
		session->sent, texts[reason], counters.lost, counters.skipped);
	free(session);
}

static void *capture_run(void *argument)
{
	struct capture *capture = argument;
	struct pollfd fds[] = {{capture->stop, POLLIN, 0}, {capture->listener, POLLIN, 0}};

	for (;;) {
		int reason;

		if (poll(fds, 2, capture->session ? SESSION_ROUND_MS : -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			break;
		if (fds[1].revents)
			take_client(capture);
		reason = capture->session ? session_step(capture->session) : SESSION_RUNS;
		if (reason != SESSION_RUNS)
			end(capture, (enum capture_reason)reason);
	}
	if (capture->session)
		end(capture, CAPTURE_STOPPING);
	return NULL;
}

/* Removes the socket of a director that was killed. Returns whether it was there. */
static bool remove_stale(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool stale =
		fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return stale && unlink(address->sun_path) == 0;
}

/* Returns 0, or -errno. */
static int open_listener(struct capture *capture)
{
	struct sockaddr_un *address = &capture->address;
	const struct sockaddr *any = (const struct sockaddr *)address;

	address->sun_family = AF_UNIX;
	if (snprintf(address->sun_path, sizeof(address->sun_path), "%s/" CAPTURE_SOCKET, rte_eal_get_runtime_dir()) >=
		(int)sizeof(address->sun_path))
		return -ENAMETOOLONG;
	capture->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* bind() creates the socket with the mode that the descriptor has. */
	if (capture->listener < 0 || fchmod(capture->listener, 0600) < 0)
		return -errno;
	if (bind(capture->listener, any, sizeof(*address)) < 0 &&
		(errno != EADDRINUSE || !remove_stale(address) || bind(capture->listener, any, sizeof(*address)) < 0)) {
		int error = errno;

		address->sun_path[0] = '\0'; /* it belongs to another director */
		return -error;
	}
	return listen(capture->listener, 4) < 0 ? -errno : 0;
}

static void release(struct capture *capture)
{
	if (capture->listener >= 0)
		close(capture->listener);
	if (capture->stop >= 0)
		close(capture->stop);
	if (capture->address.sun_path[0])
		unlink(capture->address.sun_path);
	free(capture);
}

struct capture *capture_open(struct capture_sources sources, const cpu_set_t *cpus)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int error;

	if (!capture)
		return NULL;
	capture->sources = sources;
	pthread_mutex_init(&capture->lock, NULL);
	capture->listener = -1;
	capture->stop = eventfd(0, EFD_CLOEXEC);
	error = capture->stop < 0 ? -errno : open_listener(capture);
	if (!error)
		error = -thread_start(&capture->thread, "capture", cpus, capture_run, capture);
	if (error) {
		log_warning("capture: packets cannot be captured: %s: %s", capture->address.sun_path, strerror(-error));
		release(capture);
		return NULL;
	}
	return capture;
}

void capture_close(struct capture *capture)
{
	uint64_t one = 1;

	if (!capture)
		return;
	if (write(capture->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(capture->thread, NULL);
	release(capture);
}

#define STATE(metric, key, member) metric, key, OPENMETRICS_GAUGE, FACTS_AT(struct capture_state, member)

const struct fact capture_facts[] = {
	{STATE("capture_running", "capture", running), "1 while glb-director-cli capture captures packets, else 0"},
	{STATE(NULL, "capture_pid", pid), "process id of who captures"},
	{STATE(NULL, "capture_uid", uid), "user id of who captures"},
	{STATE("capture_start_timestamp_seconds", "capture_since", since),
		"Unix time at which the capture that runs started; 0 if none runs"},
	{STATE(NULL, "capture_matched", counters.matched), "packets that the filters chose"},
	{STATE(NULL, "capture_lost", counters.lost), "of these, packets that the capture lost"},
	{STATE(NULL, "capture_skipped", counters.skipped), "packets that the capture did not examine"},
	{0},
};

struct capture_state capture_state(struct capture *capture)
{
	struct capture_state state = {0};

	if (!capture)
		return state;
	pthread_mutex_lock(&capture->lock);
	if (capture->session) {
		state = (struct capture_state){
			.running = true,
			.pid = capture->client.pid,
			.uid = capture->client.uid,
			.since = capture->since,
			.counters = session_counters(capture->session),
		};
		memcpy(state.filter, capture->session->request.filter, sizeof(state.filter));
	}
	pthread_mutex_unlock(&capture->lock);
	return state;
}
