/* SPDX-License-Identifier: BSD-3-Clause */
/* `glb-redirect exporter`: serves the metrics over HTTP. One thread. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/endpoint.h"
#include "program/http/http_server.h"
#include "program/log.h"
#include "program/service.h"
#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/metrics/metrics.h"

#define DEFAULT_LISTEN "127.0.0.1:19522"
#define INTERVAL_US    1000000 /* between two readings, however many clients ask */
#define PIECE_SIZE     16384

enum {
	OPTION_LISTEN,
};

static const struct command_option options[] = {
	{"listen", "ADDRESS:PORT", "serve the metrics there", DEFAULT_LISTEN},
	{0},
};

struct exporter {
	struct metrics metrics;
	uint64_t read_us;
};

/* What a client is reading. */
struct page {
	char *text;
	size_t size, at;
};

static void refresh(struct exporter *exporter)
{
	uint64_t now = clock_now_us();

	if (exporter->read_us && now - exporter->read_us < INTERVAL_US)
		return;
	if (metrics_read(&exporter->metrics) != 0)
		log_limited(LOG_LEVEL_ERROR, "cannot read the pins in " PINS_ROOT ": %s",
			strerror(-exporter->metrics.programs_error));
	if (exporter->metrics.sockets.error)
		log_limited(LOG_LEVEL_ERROR, "cannot read the sockets of this host or the VIPs of a program: %s",
			strerror(-exporter->metrics.sockets.error));
	exporter->read_us = clock_now_us();
}

static bool begin(void *state, void *context, uint32_t format)
{
	struct exporter *exporter = context;
	struct page *page = state;

	refresh(exporter);
	page->text = metrics_format(&exporter->metrics, format, &page->size);
	return page->text;
}

static enum http_more write_piece(void *state, FILE *to)
{
	struct page *page = state;
	size_t left = page->size - page->at, size = left < PIECE_SIZE ? left : PIECE_SIZE;

	fwrite(page->text + page->at, 1, size, to);
	page->at += size;
	return page->at < page->size ? HTTP_MORE : HTTP_END;
}

static void end(void *state)
{
	free(((struct page *)state)->text);
}

#define PAGE .state_size = sizeof(struct page), .write = write_piece, .end = end

static const struct http_route routes[] = {
	{.path = "/metrics", .accept = OPENMETRICS_MEDIA, .type = OPENMETRICS_TYPE, .begin = begin, PAGE},
	{.path = "/metrics", .type = OPENMETRICS_TYPE_LEGACY, .begin = begin, .number = OPENMETRICS_LEGACY, PAGE},
	{0},
};

static int explain_listen(const char *listen, int error)
{
	if (error == -EADDRINUSE)
		return command_error(
			"cannot listen on %s: another program does: stop it, or choose another port with --listen",
			listen);
	if (error == -EADDRNOTAVAIL)
		return command_error("cannot listen on %s: no interface has this address: see --listen", listen);
	return command_error("cannot listen on %s: %s", listen, strerror(-error));
}

static int exporter_run(const struct command_args *args)
{
	const char *listen = args->values[OPTION_LISTEN];
	static struct exporter exporter;
	struct http_server *server;
	struct endpoint endpoint;
	int error;

	if (!endpoint_parse(listen, &endpoint) || !endpoint.port)
		return command_usage("--listen: '%s' is not ADDRESS:PORT, such as " DEFAULT_LISTEN, listen);
	error = metrics_read(&exporter.metrics);
	if (error)
		return explain_folder(NULL, error);
	error = http_server_open(&server, &endpoint.addr, endpoint.port, routes, &exporter);
	if (error)
		return explain_listen(listen, error);
	log_open("glb-redirect", false);
	log_info("serving metrics on http://%s/metrics", listen);
	service_ready();
	for (;;) {
		struct pollfd event = {.fd = http_server_descriptor(server), .events = POLLIN};

		poll(&event, 1, http_server_run(server));
	}
}

const struct command exporter_command = {
	.name = "exporter",
	.run = exporter_run,
	.summary = "Serve metrics for Prometheus over HTTP, until interrupted",
	.options = options,
};
