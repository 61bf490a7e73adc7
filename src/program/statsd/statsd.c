/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/statsd/statsd.h"

#include <errno.h>
#include <netdb.h>
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

/* Remembers a number for each of many keys. The keys are hashes, so two texts with one hash are the same. */
struct map_entry {
	uint64_t key; /* 0: the entry is free */
	double value;
};

/* All zeros is an empty map. */
struct map {
	struct map_entry *entries;
	size_t count;
	size_t room; /* a power of two, or 0 */
};

#define MAP_FIRST_ROOM 1024

/* Returns the entry of the key, or the free one where it belongs. There must be a free one. */
static struct map_entry *find(const struct map *map, uint64_t key)
{
	size_t at = key & (map->room - 1);

	while (map->entries[at].key && map->entries[at].key != key)
		at = (at + 1) & (map->room - 1);
	return &map->entries[at];
}

static bool grow(struct map *map)
{
	struct map larger = {.room = map->room ? 2 * map->room : MAP_FIRST_ROOM, .count = map->count};

	larger.entries = calloc(larger.room, sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (size_t i = 0; i < map->room; i++)
		if (map->entries[i].key)
			*find(&larger, map->entries[i].key) = map->entries[i];
	free(map->entries);
	*map = larger;
	return true;
}

/* Sets the number of a key, which is not 0. False: out of memory. */
static bool map_set(struct map *map, uint64_t key, double value)
{
	struct map_entry *entry;

	if (2 * map->count >= map->room && !grow(map))
		return false;
	entry = find(map, key);
	map->count += !entry->key;
	*entry = (struct map_entry){key, value};
	return true;
}

/* Returns the number of the key, or 0 if it has none. *found (may be NULL): it has one. */
static double map_get(const struct map *map, uint64_t key, bool *found)
{
	const struct map_entry *entry = map->room ? find(map, key) : NULL;
	bool known = entry && entry->key;

	if (found)
		*found = known;
	return known ? entry->value : 0;
}

static void map_free(struct map *map)
{
	free(map->entries);
	*map = (struct map){0};
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
	/* The counters of the last round and of this one, by hash of name and labels. */
	struct map last, now;
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
	return key ? key : 1;
}

/* Returns how much the counter has grown since the last round. A counter that went back has begun at 0 again. */
static double grown(struct statsd *statsd, uint64_t key, double value)
{
	double last = map_get(&statsd->last, key, NULL);

	if (!map_set(&statsd->now, key, value))
		return 0;
	return value < last ? value : value - last;
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

/* Keeps what an incomplete round has not seen. */
static void keep_last(struct statsd *statsd)
{
	for (size_t i = 0; i < statsd->last.room; i++) {
		const struct map_entry *entry = &statsd->last.entries[i];
		bool found;

		if (!entry->key)
			continue;
		map_get(&statsd->now, entry->key, &found);
		if (!found)
			map_set(&statsd->now, entry->key, entry->value);
	}
}

void statsd_end(struct statsd *statsd, bool complete, uint64_t now_ms)
{
	flush(statsd);
	if (!complete)
		keep_last(statsd);
	map_free(&statsd->last);
	statsd->last = statsd->now;
	statsd->now = (struct map){0};
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
	map_free(&statsd->last);
	map_free(&statsd->now);
	free(statsd);
}
