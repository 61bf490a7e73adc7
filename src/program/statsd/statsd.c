/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/statsd/statsd.h"

#include <errno.h>
#include <netdb.h>
#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program/log.h"

enum {
	/* Fits an IPv6 packet of 1500 bytes. */
	DATAGRAM_SIZE = 1432,
	LINE_SIZE = 1024,
	/* Between two lookups of the host. */
	LOOKUP_MS = 60000,
	/* Between two lines in the log. */
	LOG_MS = 600000,
};

/* The value of a counter in a tree. The key is a hash, so two texts with one hash are the same. */
struct counter {
	uint64_t key;
	double value;
};

static int compare_counters(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* Returns the counter of the key, or NULL if the tree has none. */
static const struct counter *find(void *const *tree, uint64_t key)
{
	const struct counter wanted = {.key = key};
	struct counter *const *found = tfind(&wanted, tree, compare_counters);

	return found ? *found : NULL;
}

/* False: out of memory. */
static bool set(void **tree, uint64_t key, double value)
{
	struct counter *counter = malloc(sizeof(*counter)), **at;

	if (!counter)
		return false;
	*counter = (struct counter){key, value};
	at = tsearch(counter, tree, compare_counters);
	if (at)
		(*at)->value = value;
	if (!at || *at != counter)
		free(counter);
	return at;
}

/* A lookup in the background. It is never freed while it runs. */
struct lookup {
	struct gaicb request;
	struct addrinfo hints;
	char host[STATSD_HOST_SIZE], port[8];
};

struct statsd {
	const struct statsd_config *config;
	/* NULL: none runs. */
	struct lookup *lookup;
	/* When the next lookup begins; when the log may have another line. */
	uint64_t lookup_ms, log_ms;
	/* -1: the host has no address yet. */
	int socket;
	/* Trees of the counters of the last round and of this one. */
	void *last, *now;
	/* Lines that are not sent yet. */
	char datagram[DATAGRAM_SIZE];
	size_t size;
	/* The error of this round; 0: there was none. */
	int error;
};

struct statsd *statsd_open(const struct statsd_config *config)
{
	struct statsd *statsd = calloc(1, sizeof(*statsd));

	if (statsd)
		*statsd = (struct statsd){.config = config, .socket = -1};
	return statsd;
}

static void complain(struct statsd *statsd, uint64_t now_ms, const char *what, const char *why)
{
	if (now_ms < statsd->log_ms)
		return;
	statsd->log_ms = now_ms + LOG_MS;
	log_warning("statsd: cannot %s %s port %u: %s; check statsd in director.conf", what, statsd->config->host,
		statsd->config->port, why);
}

/* Uses the first address to which a socket can be connected. */
static void use(struct statsd *statsd, const struct addrinfo *list, uint64_t now_ms)
{
	int error = EAFNOSUPPORT;

	for (; list; list = list->ai_next) {
		int made = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (made >= 0 && connect(made, list->ai_addr, list->ai_addrlen) == 0) {
			if (statsd->socket >= 0)
				close(statsd->socket);
			statsd->socket = made;
			return;
		}
		error = errno;
		if (made >= 0)
			close(made);
	}
	complain(statsd, now_ms, "send to", strerror(error));
}

static void begin_lookup(struct statsd *statsd)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	struct gaicb *request;

	if (!lookup)
		return;
	snprintf(lookup->host, sizeof(lookup->host), "%s", statsd->config->host);
	snprintf(lookup->port, sizeof(lookup->port), "%u", statsd->config->port);
	lookup->hints = (struct addrinfo){.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
	lookup->request =
		(struct gaicb){.ar_name = lookup->host, .ar_service = lookup->port, .ar_request = &lookup->hints};
	request = &lookup->request;
	if (getaddrinfo_a(GAI_NOWAIT, &request, 1, NULL) == 0)
		statsd->lookup = lookup;
	else
		free(lookup);
}

static void end_lookup(struct statsd *statsd)
{
	if (statsd->lookup->request.ar_result)
		freeaddrinfo(statsd->lookup->request.ar_result);
	free(statsd->lookup);
	statsd->lookup = NULL;
}

bool statsd_ready(struct statsd *statsd, uint64_t now_ms)
{
	int error;

	if (!statsd->lookup && now_ms >= statsd->lookup_ms) {
		statsd->lookup_ms = now_ms + LOOKUP_MS;
		begin_lookup(statsd);
	}
	error = statsd->lookup ? gai_error(&statsd->lookup->request) : EAI_INPROGRESS;
	if (error == EAI_INPROGRESS)
		return statsd->socket >= 0;
	if (error)
		complain(statsd, now_ms, "find the address of", gai_strerror(error));
	else
		use(statsd, statsd->lookup->request.ar_result, now_ms);
	end_lookup(statsd);
	return statsd->socket >= 0;
}

static void flush(struct statsd *statsd)
{
	if (statsd->size && send(statsd->socket, statsd->datagram, statsd->size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		statsd->error = errno;
	statsd->size = 0;
}

static void add_line(struct statsd *statsd, const char *line)
{
	size_t size = strlen(line);

	if (statsd->size + 1 + size > sizeof(statsd->datagram))
		flush(statsd);
	if (statsd->size)
		statsd->datagram[statsd->size++] = '\n';
	memcpy(statsd->datagram + statsd->size, line, size);
	statsd->size += size;
}

/* Appends the text, with '_' for every byte that has a meaning in a line of statsd. */
static void append(char *line, const char *text, const char *forbidden)
{
	size_t at = strlen(line);

	for (; *text && at < LINE_SIZE - 1; text++, at++)
		line[at] = *text <= ' ' || *text > '~' || strchr(forbidden, *text) ? '_' : *text;
	line[at] = '\0';
}

/* Writes a line without its value: what is before the value, and what is behind it. */
static void describe(const struct statsd *statsd, const struct openmetrics *family,
	const struct openmetrics_label *labels, char name[LINE_SIZE], char tags[LINE_SIZE])
{
	bool first = true;

	snprintf(name, LINE_SIZE, "%s.%s", statsd->config->prefix, family->family);
	tags[0] = '\0';
	for (; labels->name; labels++) {
		append(statsd->config->tags ? tags : name, statsd->config->tags ? (first ? "|#" : ",") : ".", "");
		if (statsd->config->tags) {
			append(tags, labels->name, "");
			append(tags, ":", "");
			append(tags, labels->value, "|,#@");
		} else {
			append(name, labels->value, ".:|@#/");
		}
		first = false;
	}
}

/* FNV-1a over the text and its end. */
static uint64_t hash(uint64_t value, const char *text)
{
	do
		value = (value ^ (uint8_t)*text) * UINT64_C(1099511628211);
	while (*text++);
	return value;
}

static uint64_t key_of(const struct openmetrics *family, const struct openmetrics_label *labels)
{
	uint64_t key = hash(UINT64_C(14695981039346656037), family->family);

	for (; labels->name; labels++)
		key = hash(hash(key, labels->name), labels->value);
	return key;
}

/* Returns how much the counter has grown since the last round. A counter that went back has begun at 0 again. */
static double grown(struct statsd *statsd, uint64_t key, double value)
{
	const struct counter *last = find(&statsd->last, key);

	if (!set(&statsd->now, key, value))
		return 0;
	return last && value >= last->value ? value - last->value : value;
}

void statsd_take(void *context, const struct openmetrics *family, const struct openmetrics_label *labels, double value)
{
	char name[LINE_SIZE], tags[LINE_SIZE], line[2 * LINE_SIZE + 64];
	struct statsd *statsd = context;
	bool counter = family->type == OPENMETRICS_COUNTER;

	if (counter)
		value = grown(statsd, key_of(family, labels), value);
	if (counter && value == 0)
		return;
	describe(statsd, family, labels, name, tags);
	snprintf(line, sizeof(line), "%s:%.15g|%s%s", name, value, counter ? "c" : "g", tags);
	if (strlen(line) <= DATAGRAM_SIZE)
		add_line(statsd, line);
}

/* Keeps a counter that an incomplete round has not seen. */
static void keep_counter(const void *node, VISIT visit, void *context)
{
	const struct counter *last = *(const struct counter *const *)node;
	struct statsd *statsd = context;

	if ((visit == postorder || visit == leaf) && !find(&statsd->now, last->key))
		set(&statsd->now, last->key, last->value);
}

void statsd_end(struct statsd *statsd, bool complete, uint64_t now_ms)
{
	flush(statsd);
	if (!complete)
		twalk_r(statsd->last, keep_counter, statsd);
	tdestroy(statsd->last, free);
	statsd->last = statsd->now;
	statsd->now = NULL;
	if (statsd->error)
		complain(statsd, now_ms, "send to", strerror(statsd->error));
	statsd->error = 0;
}

void statsd_close(struct statsd *statsd)
{
	if (!statsd)
		return;
	/* A lookup that runs cannot be ended, and its memory must remain. */
	if (statsd->lookup && gai_cancel(&statsd->lookup->request) != EAI_NOTCANCELED)
		end_lookup(statsd);
	if (statsd->socket >= 0)
		close(statsd->socket);
	tdestroy(statsd->last, free);
	tdestroy(statsd->now, free);
	free(statsd);
}
