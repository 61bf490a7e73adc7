/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/fleet/peers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/endpoint.h"
#include "common/file/file.h"
#include "common/text.h"
#include "program/command.h"

#define DIRECTOR_PORT 19520
#define PROXY_PORT    19522
#define MAX_FILE_SIZE (1 << 20) /* bytes */

static bool is_name(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(".-_", *at))
			return false;
	return *text && strlen(text) <= 253;
}

static void set_page(struct fetch *page, const char *address, unsigned port)
{
	snprintf(page->url, sizeof(page->url), "http://%s:%u/metrics", address, port);
}

/* Parses ADDRESS, ADDRESS:PORT, NAME or NAME:PORT. Without a port it is a director or a proxy. */
static bool parse_place(const char *text, struct peer *peer)
{
	char address[FETCH_URL_MAX], *colon;
	struct endpoint endpoint;
	uint32_t port = 0;

	if (strlen(text) >= sizeof(address) - 32)
		return false;
	strcpy(address, text);
	if (endpoint_parse(text, &endpoint)) {
		bool v6 = endpoint.addr.family == NETADDR_V6;
		char number[NETADDR_TEXT_MAX];

		snprintf(address, sizeof(address), "%s%s%s", v6 ? "[" : "", netaddr_format(&endpoint.addr, number),
			v6 ? "]" : "");
		port = endpoint.port;
		if (!peer->backend.family)
			peer->backend = endpoint.addr;
	} else {
		colon = strchr(address, ':');
		if (colon && !text_number(colon + 1, 1, 65535, &port))
			return false;
		if (colon)
			*colon = '\0';
		if (!is_name(address))
			return false;
	}
	set_page(&peer->pages[0], address, port ? port : DIRECTOR_PORT);
	if (!port)
		set_page(&peer->pages[1], address, PROXY_PORT);
	return true;
}

/* Parses HOST or BACKEND=HOST. */
static bool parse_host(const char *text, struct peer *peer)
{
	const char *equals = strchr(text, '=');
	char backend[NETADDR_TEXT_MAX];

	peer->text = text;
	if (!equals)
		return parse_place(text, peer);
	if ((size_t)(equals - text) >= sizeof(backend))
		return false;
	snprintf(backend, sizeof(backend), "%.*s", (int)(equals - text), text);
	return netaddr_parse(backend, &peer->backend) && parse_place(equals + 1, peer);
}

/* Cuts the words of the file, without comments. Returns their number, at most `max`. */
static size_t cut_words(char *text, const char *words[], size_t max)
{
	size_t count = 0;

	for (char *line; (line = strsep(&text, "\n"));) {
		line[strcspn(line, "#")] = '\0';
		for (char *word; count < max && (word = strsep(&line, " \t\r"));)
			if (*word)
				words[count++] = word;
	}
	return count;
}

static int parse_all(struct peers *peers, const char *const words[], size_t count)
{
	char mended[64];

	if (count > PEERS_MAX)
		return command_usage("%s: more than %d hosts", peers->what, PEERS_MAX);
	peers->items = calloc(count + 1, sizeof(*peers->items));
	if (!peers->items)
		return command_error("out of memory");
	for (; peers->count < count; peers->count++) {
		const char *word = words[peers->count];

		if (parse_host(word, &peers->items[peers->count]))
			continue;
		snprintf(mended, sizeof(mended), "%s", word);
		text_mend(mended);
		return command_usage("%s: '%s' is not HOST, HOST:PORT or [IPV6]:PORT, with or without BACKEND= before it",
			peers->what, mended);
	}
	return COMMAND_OK;
}

int peers_read(struct peers *peers, char *const words[], size_t count, const char *file)
{
	const char **all = calloc(PEERS_MAX + 1, sizeof(*all));
	struct faults faults = {.file = file};
	int code = COMMAND_FAILED;
	size_t used = 0, size;

	if (!all)
		return command_error("out of memory");
	while (used < count && used <= PEERS_MAX) {
		all[used] = words[used];
		used++;
	}
	if (file && file_read(file, "a list of hosts", MAX_FILE_SIZE, &peers->text, &size, &faults) != 0) {
		faults_report(&faults, FAULTS_ERRORS, command_fault, NULL);
	} else {
		used += peers->text ? cut_words(peers->text, all + used, PEERS_MAX + 1 - used) : 0;
		code = parse_all(peers, all, used);
	}
	faults_clear(&faults);
	free(all);
	return code;
}

bool peers_ask(struct peers *peers, const char *const *wanted, unsigned timeout_s)
{
	struct fetch **pages = calloc(peers->count + 1, PEERS_PAGES * sizeof(*pages));
	size_t count = 0;
	bool asked;

	for (size_t i = 0; i < peers->count && pages; i++)
		for (unsigned j = 0; j < PEERS_PAGES; j++) {
			struct fetch *page = &peers->items[i].pages[j];

			page->samples.wanted = wanted;
			if (*page->url)
				pages[count++] = page;
		}
	asked = pages && fetch_all(pages, count, timeout_s) == 0;
	if (!asked)
		command_error("cannot ask the hosts: out of memory");
	free(pages);
	return asked;
}

static bool has_sample(const struct fetch *page, const char *name)
{
	size_t at = 0;

	return *page->url && !*page->error && samples_next(&page->samples, name, &at);
}

const struct fetch *peers_page_with(const struct peer *peer, const char *name)
{
	for (unsigned i = 0; i < PEERS_PAGES; i++)
		if (has_sample(&peer->pages[i], name))
			return &peer->pages[i];
	return NULL;
}

static bool has_any(const struct fetch *page, const char *const *names)
{
	while (*names && !has_sample(page, *names))
		names++;
	return *names;
}

const char *peers_reasons(
	const struct peer *peer, const char *const *names, const char *owner, char buf[PEERS_REASONS_MAX])
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < PEERS_PAGES; i++) {
		const struct fetch *page = &peer->pages[i];

		if (!*page->url || has_any(page, names))
			continue;
		snprintf(buf + used, PEERS_REASONS_MAX - used, "%s%s: %s%s", used ? "; " : "", page->url,
			*page->error ? page->error : "the page is not that of ", *page->error ? "" : owner);
		used = strlen(buf);
	}
	return buf;
}

void peers_free(struct peers *peers)
{
	for (size_t i = 0; i < peers->count; i++)
		for (unsigned j = 0; j < PEERS_PAGES; j++)
			samples_free(&peers->items[i].pages[j].samples);
	free(peers->items);
	free(peers->text);
	*peers = (struct peers){0};
}
