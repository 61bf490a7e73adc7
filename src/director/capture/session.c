/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/capture/session.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "common/clock.h"
#include "common/text.h"
#include "director/ports/ports.h"
#include "director/reload/reload.h"
#include "director/workers.h"
#include "packet/capture_program.h"
#include "worker/worker.h"

_Static_assert(sizeof(struct capture_instruction) == sizeof(struct bpf_insn) &&
		       offsetof(struct capture_instruction, jump_true) == offsetof(struct bpf_insn, jt) &&
		       offsetof(struct capture_instruction, k) == offsetof(struct bpf_insn, k),
	"an instruction of a message is one of libpcap");

#define REQUEST_MS 2000 /* a client sends its request as soon as it is connected, but its host may be busy */
#define STALLED_MS 5000 /* a client that reads nothing for so long is gone */
#define LAST_MS    1000 /* how long the end waits for a client that reads slowly */

#define REQUEST_HEAD offsetof(struct capture_request, program)

void session_refuse(int fd, const char *format, ...)
{
	struct capture_end message = {.type = CAPTURE_REFUSED};
	va_list args;

	va_start(args, format);
	vsnprintf(message.text, sizeof(message.text), format, args);
	va_end(args);
	if (send(fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return; /* the client is gone */
}

/* Returns what is wrong with the request of `size` bytes, or NULL. */
static const char *find_fault(const struct capture_request *request, size_t size)
{
	if (size < sizeof(request->protocol) || request->protocol != CAPTURE_PROTOCOL)
		return "this program and the director, which is version " GLB_VERSION
		       ", are of different versions: use the glb-director-cli of the director's version, or restart the director";
	if (size < REQUEST_HEAD || request->program_size > CAPTURE_MAX_PROGRAM ||
		size != REQUEST_HEAD + request->program_size * sizeof(request->program[0]) ||
		memchr(request->table, '\0', sizeof(request->table)) == NULL ||
		memchr(request->filter, '\0', sizeof(request->filter)) == NULL)
		return "the request has a wrong size";
	if (!(request->verdicts & CAPTURE_ALL_VERDICTS) || request->verdicts & ~CAPTURE_ALL_VERDICTS ||
		request->snaplen < 1 || request->snaplen > CAPTURE_MAX_SNAPLEN || request->seconds < 1 ||
		request->seconds > CAPTURE_MAX_SECONDS || request->count < 1 || request->count > CAPTURE_MAX_COUNT)
		return "a number in the request is out of range";
	if (request->program_size &&
		(capture_program_check(request->program, request->program_size) ||
			!bpf_validate((const struct bpf_insn *)request->program, (int)request->program_size)))
		return "the filter's program is not valid";
	return NULL;
}

bool session_receive(int fd, int wait_ms, struct capture_request *request)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	const char *fault;
	ssize_t size;

	if (poll(&ready, 1, wait_ms) != 1)
		return false;
	size = recv(fd, request, sizeof(*request), MSG_DONTWAIT | MSG_TRUNC);
	if (size <= 0)
		return false;
	fault = find_fault(request, (size_t)size);
	if (fault)
		session_refuse(fd, "%s", fault);
	else
		text_mend(request->filter);
	return !fault;
}

static bool is_table(const struct table_set *set, uint32_t index, const char *text)
{
	char label[16];

	if (strcmp(table_label(set, index, label), text) == 0)
		return true;
	snprintf(label, sizeof(label), "#%u", index);
	return strcmp(label, text) == 0;
}

/* Adds a name to the list, or "..." in place of the first one that does not fit. `*used` is the length of the list; 0:
 * it is empty. */
static void list_name(char *names, size_t size, size_t *used, const char *name)
{
	static const char more[] = ", ...";

	if (*used >= size)
		return;
	if (*used + strlen(name) + 2 * sizeof(more) <= size) {
		*used += (size_t)snprintf(names + *used, size - *used, "%s%s", *used ? ", " : "", name);
	} else {
		memcpy(names + *used, more, sizeof(more));
		*used = size;
	}
}

/* Fills choice->slot. Returns false after the client was told which tables there are. */
static bool find_table(struct session *session)
{
	const struct live_table *live;
	const char *text = session->request.table;
	char names[512] = "", label[16];
	size_t used = 0;

	session->choice.slot = -1;
	if (!*text)
		return true;
	live = reload_lock(session->from->reload);
	for (uint32_t i = 0; i < live->routes->set.count; i++) {
		const struct table_set *set = &live->routes->set;

		if (session->choice.slot < 0 && is_table(set, i, text))
			session->choice.slot = live->slot[i];
		list_name(names, sizeof(names), &used, table_label(set, i, label));
	}
	reload_unlock(session->from->reload);
	text_mend(names);
	if (session->choice.slot < 0)
		session_refuse(session->fd, "there is no table '%s'; the director has: %s", text, names);
	return session->choice.slot >= 0;
}

static size_t memory_size(const struct session *session)
{
	return sizeof(struct tap) + tap_memory(&session->choice);
}

static void free_taps(struct session *session)
{
	for (unsigned i = 0; i < PLAN_MAX_LCORES; i++)
		if (session->taps[i])
			munmap(session->taps[i], memory_size(session));
	memset(session->taps, 0, sizeof(session->taps));
}

/* The memory is there before a worker uses it, so that a worker never waits for the kernel to find a page. */
static bool create_taps(struct session *session)
{
	const struct capture_sources *from = session->from;

	for (uint16_t i = 0; i < from->workers->count; i++) {
		const struct worker *worker = from->workers->list[i];
		struct tap *tap = mmap(NULL, memory_size(session), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (tap == MAP_FAILED)
			return false;
		session->taps[worker->index] = tap;
		tap->steering = worker->pipeline.steering;
		tap->lcore = worker->lcore;
		tap->worker = worker->index;
		tap_init(tap, &session->choice, (uint8_t *)(tap + 1), rte_get_tsc_hz());
	}
	return true;
}

/* Returns whether the client got what was pending, or there was nothing. Notes since when it does not read. */
static bool flush(struct session *session, bool *gone)
{
	if (session->pending && send(session->fd, session->message, session->pending, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (!session->stalled_ms)
			session->stalled_ms = clock_now_ms();
		*gone |= (errno != EAGAIN && errno != EINTR) || clock_now_ms() - session->stalled_ms > STALLED_MS;
		return false;
	}
	session->pending = 0;
	session->stalled_ms = 0;
	return true;
}

static void put_start(struct session *session)
{
	const struct capture_sources *from = session->from;
	struct capture_start *start = (struct capture_start *)session->message;

	*start = (struct capture_start){.type = CAPTURE_STARTED, .version = GLB_VERSION};
	for (uint16_t i = 0; i < from->ports->count && i < CAPTURE_MAX_PORTS; i++) {
		struct capture_port *port = &start->ports[start->port_count++];

		snprintf(port->name, sizeof(port->name), "%s", from->ports->list[i].name);
		port->id = from->ports->list[i].id;
		memcpy(port->mac, from->ports->list[i].mac.addr_bytes, sizeof(port->mac));
	}
	session->pending = sizeof(*start);
}

bool session_start(struct session *session, const struct capture_sources *from, int fd)
{
	bool gone = false;

	*session = (struct session){.from = from, .fd = fd};
	if (!session_receive(fd, REQUEST_MS, &session->request) || !find_table(session))
		return false;
	memcpy(session->program, session->request.program, sizeof(session->program));
	session->choice.program = session->request.program_size ? session->program : NULL;
	session->choice.verdicts = session->request.verdicts;
	session->choice.snaplen = session->request.snaplen;
	if (!create_taps(session)) {
		session_refuse(fd, "the director has no memory for a capture: try a smaller --snaplen");
		free_taps(session);
		return false;
	}
	put_start(session);
	flush(session, &gone);
	session->ends_ms = clock_now_ms() + session->request.seconds * UINT64_C(1000);
	worker_shared_tap(from->reload->shared, session->taps);
	return true;
}

/*
 * Puts the next labels of the tables of this generation into the message, if the generation is still in use. The client
 * knows the generation when it has all labels.
 */
static void put_tables(struct session *session, uint64_t generation)
{
	struct capture_tables *head = (struct capture_tables *)session->message;
	const struct live_table *live;
	uint32_t size = sizeof(*head), count;

	session->listed = session->listing == generation ? session->listed : 0;
	session->listing = generation;
	*head = (struct capture_tables){.type = CAPTURE_TABLES, .generation = generation};
	live = reload_lock(session->from->reload);
	count = live->generation == generation ? live->routes->set.count : 0;
	for (; session->listed < count && size + CAPTURE_TEXT <= sizeof(session->message); session->listed++) {
		char buf[16], *label = (char *)session->message + size;

		snprintf(label, CAPTURE_TEXT, "%s", table_label(&live->routes->set, session->listed, buf));
		text_mend(label);
		size += (uint32_t)strlen(label) + 1;
		head->count++;
	}
	reload_unlock(session->from->reload);
	session->pending = size;
	if (session->listed < count)
		return;
	session->generations[0] = session->generations[1];
	session->generations[1] = generation;
}

/* Returns the tap with the oldest record, or NULL. */
static struct tap *oldest(struct session *session, const struct capture_record **record)
{
	struct tap *found = NULL;
	uint32_t size;

	*record = NULL;
	for (uint16_t i = 0; i < session->from->workers->count; i++) {
		const struct capture_record *next =
			(const struct capture_record *)tap_ring_peek(&session->taps[i]->ring, &size);

		if (next && (!*record || next->time < (*record)->time)) {
			*record = next;
			found = session->taps[i];
		}
	}
	return found;
}

static uint64_t unix_time(const struct session *session, uint64_t tsc)
{
	double ns = (double)(int64_t)(tsc - session->tick_tsc) * 1e9 / (double)rte_get_tsc_hz();

	return session->tick_ns + (uint64_t)(int64_t)ns;
}

static void put_record(struct session *session, const struct capture_record *record)
{
	struct capture_packets *head = (struct capture_packets *)session->message;
	struct capture_record *copy;

	if (!session->pending) {
		*head = (struct capture_packets){.type = CAPTURE_PACKETS, .counters = session_counters(session)};
		session->pending = sizeof(*head);
	}
	copy = memcpy(session->message + session->pending, record, record->size);
	copy->time = unix_time(session, record->time);
	head->count++;
	session->pending += record->size;
	session->sent++;
}

static bool knows(const struct session *session, uint64_t generation)
{
	return !generation || session->generations[0] == generation || session->generations[1] == generation;
}

/* Returns the counters of a tap. */
static struct capture_counters read_counters(const struct tap *tap)
{
	return (struct capture_counters){
		.matched = __atomic_load_n(&tap->counters.matched, __ATOMIC_RELAXED),
		.lost = __atomic_load_n(&tap->counters.lost, __ATOMIC_RELAXED),
		.skipped = __atomic_load_n(&tap->counters.skipped, __ATOMIC_RELAXED),
	};
}

/* Takes records of the workers and sends them, until there are none or the client does not read. Returns whether none
 * is left. */
static bool forward(struct session *session, bool *gone)
{
	struct capture_counters before[PLAN_MAX_LCORES];
	const struct capture_record *record;
	struct tap *tap;

	for (uint16_t i = 0; i < session->from->workers->count; i++)
		before[i] = read_counters(session->taps[i]);
	session->tick_tsc = rte_rdtsc();
	session->tick_ns = clock_read_ns(CLOCK_REALTIME);
	for (unsigned n = 0; n < SESSION_ROUND_PACKET && session->sent < session->request.count; n++) {
		tap = oldest(session, &record);
		if (!tap) {
			/* The client has all packets that were counted before. */
			memcpy(session->until, before, sizeof(before[0]) * session->from->workers->count);
			return flush(session, gone);
		}
		while (!knows(session, record->generation)) {
			if (!flush(session, gone))
				return false;
			put_tables(session, record->generation);
			if (!flush(session, gone))
				return false;
		}
		if (session->pending + record->size > sizeof(session->message) && !flush(session, gone))
			return false;
		put_record(session, record);
		session->until[tap->worker] = record->counters;
		tap_ring_release(&tap->ring);
	}
	flush(session, gone);
	return false;
}

int session_step(struct session *session)
{
	struct pollfd client = {.fd = session->fd, .events = POLLRDHUP};
	bool gone = false;

	poll(&client, 1, 0);
	if (client.revents & (POLLHUP | POLLERR))
		return CAPTURE_CLIENT_GONE;
	if (client.revents & POLLRDHUP)
		return CAPTURE_ASKED;
	if (flush(session, &gone))
		forward(session, &gone);
	if (gone)
		return CAPTURE_CLIENT_GONE;
	if (session->sent >= session->request.count && !session->pending)
		return CAPTURE_COUNT_REACHED;
	return clock_now_ms() >= session->ends_ms ? CAPTURE_TIME_REACHED : SESSION_RUNS;
}

static void add(struct capture_counters *sum, const struct capture_counters *counters)
{
	sum->matched += counters->matched;
	sum->lost += counters->lost;
	sum->skipped += counters->skipped;
}

struct capture_counters session_counters(const struct session *session)
{
	struct capture_counters sum = {0};

	for (uint16_t i = 0; i < session->from->workers->count; i++) {
		const struct capture_counters counters = read_counters(session->taps[i]);

		add(&sum, &counters);
	}
	return sum;
}

struct capture_counters session_result(const struct session *session)
{
	struct capture_counters sum = {0};

	if (session->sent < session->request.count)
		return session_counters(session);
	for (uint16_t i = 0; i < session->from->workers->count; i++)
		add(&sum, &session->until[i]);
	return sum;
}

/* Sends what is left and the reason, and waits a little for a client that reads slowly. */
static void say_end(struct session *session, enum capture_reason reason)
{
	uint64_t end = clock_now_ms() + LAST_MS;
	struct pollfd client = {.fd = session->fd, .events = POLLOUT};
	bool gone = false, left = true;

	while (left && !gone && clock_now_ms() < end) {
		left = !flush(session, &gone) || (session->sent < session->request.count && !forward(session, &gone));
		if (left && !gone)
			poll(&client, 1, SESSION_ROUND_MS);
	}
	if (left || gone)
		return;
	*(struct capture_end *)session->message =
		(struct capture_end){.type = CAPTURE_ENDED, .reason = reason, .counters = session_result(session)};
	session->pending = sizeof(struct capture_end);
	while (!flush(session, &gone) && !gone && clock_now_ms() < end)
		poll(&client, 1, SESSION_ROUND_MS);
}

void session_end(struct session *session, enum capture_reason reason)
{
	worker_shared_tap(session->from->reload->shared, NULL);
	if (reason != CAPTURE_CLIENT_GONE)
		say_end(session, reason);
	close(session->fd);
	free_taps(session);
}
