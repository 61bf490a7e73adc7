/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/fleet/proxies.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "program/command.h"

#define PROXY    "glb_redirect_build_info"
#define COUNTED  "glb_redirect_sockets_timestamp_seconds"
#define MAX_WAIT 60 /* seconds, for a new count: a proxy with ten million sockets needs more than one */

/* docs/reference/metrics.md describes them. */
static const char *const wanted[] = {
	PROXY,
	"glb_redirect_open_connections",
	"glb_redirect_accepted_packets_total",
	"glb_redirect_packets_total",
	COUNTED,
	NULL,
};

void proxies_complain(const struct proxies *proxies, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	command_error("%s%s", proxies->forced ? "warning: " : "", text ? text : "out of memory");
	free(text);
}

bool proxies_open(struct proxies *proxies, const char *file, uint32_t timeout_s, bool forced)
{
	*proxies = (struct proxies){
		.file = file,
		.timeout_s = timeout_s,
		.forced = forced,
		.peers = {.what = file},
	};
	return peers_read(&proxies->peers, NULL, 0, file) == COMMAND_OK;
}

void proxies_close(struct proxies *proxies)
{
	peers_free(&proxies->peers);
}

static bool is_one_of(const struct netaddr *addr, const struct netaddr *addrs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (netaddr_compare(addr, &addrs[i]) == 0)
			return true;
	return false;
}

bool proxies_ask(struct proxies *proxies, const struct netaddr *backends, size_t count)
{
	struct peers *peers = &proxies->peers;

	for (size_t i = 0; i < peers->count; i++)
		if (peers->items[i].backend.family && !is_one_of(&peers->items[i].backend, backends, count))
			for (unsigned j = 0; j < PEERS_PAGES; j++)
				*peers->items[i].pages[j].url = '\0'; /* another backend */
	return peers_ask(peers, wanted, proxies->timeout_s);
}

/* A host that is named by its name is the backend if its page came from the address of the backend. */
static bool is_backend(const struct peer *peer, const struct netaddr *backend)
{
	const struct fetch *page = peer->backend.family ? NULL : peers_page_with(peer, PROXY);

	return netaddr_compare(page ? &page->from : &peer->backend, backend) == 0;
}

/* Returns the time at which the backend counted its connections, in its own clock; 0: not known. */
static double counted_at(const struct proxies *proxies, const struct netaddr *backend)
{
	for (size_t i = 0; i < proxies->peers.count; i++) {
		const struct peer *peer = &proxies->peers.items[i];
		const struct fetch *page = is_backend(peer, backend) ? peers_page_with(peer, COUNTED) : NULL;
		size_t at = 0;

		if (page)
			return samples_value(samples_next(&page->samples, COUNTED, &at));
	}
	return 0;
}

bool proxies_ask_for_new_counts(struct proxies *proxies, const struct netaddr *backends, size_t count)
{
	double *before = calloc(count, sizeof(*before));
	bool asked = before && proxies_ask(proxies, backends, count), old = asked;

	if (!before)
		proxies_complain(proxies, "out of memory");
	for (size_t i = 0; asked && i < count; i++)
		before[i] = counted_at(proxies, &backends[i]);
	for (unsigned second = 0; asked && old && second < MAX_WAIT; second++) {
		old = false;
		for (size_t i = 0; i < count; i++)
			old |= before[i] != 0 && counted_at(proxies, &backends[i]) == before[i];
		if (old) {
			nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
			asked = proxies_ask(proxies, backends, count);
		}
	}
	if (asked && old)
		proxies_complain(proxies,
			"%s: a proxy in it has not counted its connections for %u s: restart glb-redirect exporter there",
			proxies->file, MAX_WAIT);
	free(before);
	return asked && (!old || proxies->forced);
}

const struct peer *proxies_peer(const struct proxies *proxies, const struct netaddr *backend)
{
	const struct peer *found = NULL;
	char address[NETADDR_TEXT_MAX];

	netaddr_format(backend, address);

	for (size_t i = 0; i < proxies->peers.count; i++) {
		const struct peer *peer = &proxies->peers.items[i];

		if (!is_backend(peer, backend))
			continue;
		if (found) {
			proxies_complain(proxies, "%s: '%s' and '%s' are both %s: remove the wrong one", proxies->file,
				found->text, peer->text, address);
			return NULL;
		}
		found = peer;
	}
	if (!found)
		proxies_complain(proxies,
			"%s: no host in it is known to be %s: add %s=HOST[:PORT], where the metrics of this proxy are",
			proxies->file, address, address);
	return found;
}

const struct samples *proxies_find(const struct proxies *proxies, const struct netaddr *backend)
{
	static const char *const names[] = {PROXY, NULL};
	char address[NETADDR_TEXT_MAX], reasons[PEERS_REASONS_MAX];
	const struct peer *peer = proxies_peer(proxies, backend);
	const struct fetch *page = peer ? peers_page_with(peer, PROXY) : NULL;

	if (!peer)
		return NULL;
	netaddr_format(backend, address);
	if (!page) {
		proxies_complain(proxies,
			"%s: its connections are not known: %s (is it glb-redirect exporter: " PEERS_ADVICE ")",
			address, peers_reasons(peer, names, "a proxy", reasons));
		return NULL;
	}
	if (page->samples.left_out) {
		proxies_complain(proxies, "%s: its connections are not known: %s has %zu lines too many", address,
			page->url, page->samples.left_out);
		return NULL;
	}
	return &page->samples;
}

/* A VIP, and the connections that a proxy has for it. */
struct open {
	struct netprefix vip;
	uint64_t count; /* of connections */
};

/* Returns the entries of all VIPs, which the caller frees, and their number. NULL: an error was printed. */
static struct open *parse_open(
	const struct proxies *proxies, const char *address, const struct samples *samples, size_t *count)
{
	struct open *all = calloc(samples->count + 1, sizeof(*all));
	char label[SAMPLES_LABEL_MAX];
	const char *sample;

	*count = 0;
	for (size_t at = 0; all && (sample = samples_next(samples, "glb_redirect_open_connections", &at));) {
		struct open *open = &all[(*count)++];

		if (samples_label(sample, "vip", label) && netprefix_parse(label, &open->vip, NULL) &&
			samples_count(sample, &open->count))
			continue;
		proxies_complain(proxies,
			"%s: its connections are not known: '%s' is no number of connections of a VIP", address, sample);
		free(all);
		return NULL;
	}
	if (!all)
		proxies_complain(proxies, "out of memory");
	return all;
}

static bool overlap(const struct netprefix *a, const struct netprefix *b)
{
	return netprefix_covers(a, &b->addr) || netprefix_covers(b, &a->addr);
}

static bool is_vip_of(const struct table *table, const struct netprefix *vip)
{
	for (uint32_t i = 0; i < table->bind_count; i++)
		if (overlap(&table->binds[i].prefix, vip))
			return true;
	return false;
}

/* Returns the first bind of which no entry has an address, or NULL. */
static const struct table_bind *unknown_bind(const struct table *table, const struct open *all, size_t count)
{
	for (uint32_t i = 0; i < table->bind_count; i++) {
		size_t at = 0;

		while (at < count && !overlap(&all[at].vip, &table->binds[i].prefix))
			at++;
		if (at == count)
			return &table->binds[i];
	}
	return NULL;
}

bool proxies_count_left(
	const struct proxies *proxies, const struct netaddr *backend, const struct table *table, uint64_t *left)
{
	const struct samples *samples = proxies_find(proxies, backend);
	char address[NETADDR_TEXT_MAX], text[TABLE_BIND_TEXT_MAX];
	const struct table_bind *unknown;
	struct open *all;
	size_t count;

	*left = 0;
	all = samples ? parse_open(proxies, netaddr_format(backend, address), samples, &count) : NULL;
	if (!all)
		return false;
	unknown = unknown_bind(table, all, count);
	if (unknown)
		proxies_complain(proxies,
			"%s: its connections of the bind %s are not known, because its metrics do not have this VIP: is it in allow_to there, or an address of lo?",
			address, table_bind_text(unknown, text));
	for (size_t i = 0; i < count; i++)
		*left += is_vip_of(table, &all[i].vip) ? all[i].count : 0;
	free(all);
	return !unknown;
}
