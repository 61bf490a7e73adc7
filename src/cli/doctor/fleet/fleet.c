/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/doctor/fleet/fleet.h"

#include <ctype.h>
#include <errno.h>
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
#define PAGES         2 /* of a host without a port */

/* A host that the user named. */
struct host_name {
	const char *text;
	struct fetch pages[PAGES]; /* one without a URL is not used */
};

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

/* Takes ADDRESS, ADDRESS:PORT, NAME or NAME:PORT. Without a port it is a director or a proxy. False: it is none of these. */
static bool parse_host(const char *text, struct host_name *host)
{
	char address[FETCH_URL_MAX], *colon;
	struct endpoint endpoint;
	uint32_t port = 0;

	host->text = text;
	if (strlen(text) >= sizeof(address) - 32)
		return false;
	strcpy(address, text);
	if (endpoint_parse(text, &endpoint)) {
		bool v6 = endpoint.addr.family == NETADDR_V6;
		char number[NETADDR_TEXT_MAX];

		snprintf(address, sizeof(address), "%s%s%s", v6 ? "[" : "", netaddr_format(&endpoint.addr, number),
			v6 ? "]" : "");
		port = endpoint.port;
	} else {
		colon = strchr(address, ':');
		if (colon && !text_number(colon + 1, 1, 65535, &port))
			return false;
		if (colon)
			*colon = '\0';
		if (!is_name(address))
			return false;
	}
	set_page(&host->pages[0], address, port ? port : DIRECTOR_PORT);
	if (!port)
		set_page(&host->pages[1], address, PROXY_PORT);
	return true;
}

/* Cuts the words of the file, without comments. Returns their number, at most `max`. */
static size_t cut_words(char *text, char *words[], size_t max)
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

/* Adds the page to the members whose metrics it has. Returns false if it has none. */
static bool add_member(struct fleet *fleet, const struct host_name *host, const struct fetch *page)
{
	const struct fleet_member member = {.name = host->text, .samples = &page->samples};
	size_t at = 0;

	if (samples_next(&page->samples, "glb_director_build_info", &at)) {
		fleet->directors[fleet->director_count++] = member;
		return true;
	}
	at = 0;
	if (samples_next(&page->samples, "glb_redirect_build_info", &at)) {
		fleet->proxies[fleet->proxy_count++] = member;
		return true;
	}
	return false;
}

static void report_host(struct fleet *fleet, const struct host_name *host)
{
	char reasons[PAGES * (FETCH_ERROR_MAX + FETCH_URL_MAX + 64)] = "";
	unsigned found = 0;

	for (unsigned i = 0; i < PAGES; i++) {
		const struct fetch *page = &host->pages[i];
		size_t used = strlen(reasons);

		if (!*page->url)
			continue;
		if (!*page->error && add_member(fleet, host, page))
			found++;
		else
			snprintf(reasons + used, sizeof(reasons) - used, "%s%s: %s", used ? "; " : "", page->url,
				*page->error ? page->error : "the page is not that of a director or a proxy");
	}
	if (found)
		findings_add(&fleet->findings, FINDINGS_OK, host->text, NULL, "it replies");
	else
		findings_add(&fleet->findings, FINDINGS_FAIL, host->text, NULL,
			"nothing is known about it: %s (does it run, does it listen on an address that others can reach, and does a firewall let this host in?)",
			reasons);
}

/* Returns 0, or -errno. */
static int ask_all(struct host_name *hosts, size_t count, unsigned timeout_s)
{
	struct fetch **pages = calloc(count, PAGES * sizeof(*pages));
	size_t page_count = 0;
	int error = -ENOMEM;

	for (size_t i = 0; i < count && pages; i++)
		for (unsigned j = 0; j < PAGES; j++)
			if (*hosts[i].pages[j].url)
				pages[page_count++] = &hosts[i].pages[j];
	if (pages)
		error = fetch_all(pages, page_count, timeout_s);
	free(pages);
	return error;
}

static int run(struct fleet *fleet, struct host_name *hosts, size_t count, unsigned timeout_s, bool json)
{
	int error = ask_all(hosts, count, timeout_s), code = FINDINGS_FAILED;

	if (error) {
		command_error("cannot ask the fleet: %s", strerror(-error));
		return FINDINGS_FAILED;
	}
	findings_open(&fleet->findings);
	fleet->findings.check = "reachable";
	for (size_t i = 0; i < count; i++)
		report_host(fleet, &hosts[i]);
	fleet_check(fleet);
	code = findings_print(&fleet->findings, "host", "fleet", json);
	findings_close(&fleet->findings);
	return code;
}

/* Parses all words. Returns their number, or 0 after an error message. */
static size_t parse_all(char *const words[], size_t count, struct host_name *hosts)
{
	if (count == 0 || count > FLEET_MAX_HOSTS) {
		command_usage("doctor --fleet: %s", count ? "more than 256 hosts" : "name the directors and the proxies");
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (!parse_host(words[i], &hosts[i])) {
			command_usage("doctor --fleet: '%s' is not HOST, HOST:PORT or [IPV6]:PORT", words[i]);
			return 0;
		}
	return count;
}

int fleet_run(char *const hosts[], size_t count, const char *file, unsigned timeout_s, bool json)
{
	char *words[FLEET_MAX_HOSTS + 1], *text = NULL;
	struct host_name *parsed = calloc(FLEET_MAX_HOSTS, sizeof(*parsed));
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	struct faults faults = {.file = file};
	size_t all = 0, size;
	int code = FINDINGS_FAILED;

	while (all < count && all <= FLEET_MAX_HOSTS) {
		words[all] = hosts[all];
		all++;
	}
	if (!parsed || !fleet)
		command_error("out of memory");
	else if (file && file_read(file, "a list of hosts", MAX_FILE_SIZE, &text, &size, &faults) != 0)
		faults_report(&faults, FAULTS_ERRORS, command_fault, NULL);
	else {
		all += text ? cut_words(text, words + all, FLEET_MAX_HOSTS + 1 - all) : 0;
		all = parse_all(words, all, parsed);
		if (all)
			code = run(fleet, parsed, all, timeout_s, json);
	}
	for (size_t i = 0; parsed && i < FLEET_MAX_HOSTS * PAGES; i++)
		samples_free(&parsed[i / PAGES].pages[i % PAGES].samples);
	faults_clear(&faults);
	free(parsed);
	free(fleet);
	free(text);
	return code;
}
