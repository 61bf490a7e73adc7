/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/fleet/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <curl/curl.h>

#include "common/text.h"

#define TRIES 3

static size_t take(char *bytes, size_t one, size_t size, void *context)
{
	struct fetch *page = context;

	page->received += size * one;
	if (page->received > FETCH_PAGE_MAX)
		return 0; /* libcurl ends the transfer */
	samples_feed(&page->samples, bytes, size * one);
	return size * one;
}

/* Returns a transfer that belongs to the page, or NULL. */
static CURL *make(struct fetch *page, unsigned timeout_s)
{
	CURL *transfer = curl_easy_init();

	if (!transfer)
		return NULL;
	samples_free(&page->samples);
	page->received = 0;
	curl_easy_setopt(transfer, CURLOPT_URL, page->url);
	curl_easy_setopt(transfer, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(transfer, CURLOPT_PROXY, ""); /* not that of the environment */
	curl_easy_setopt(transfer, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(transfer, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(transfer, CURLOPT_TIMEOUT, (long)timeout_s);
	curl_easy_setopt(transfer, CURLOPT_ERRORBUFFER, page->error);
	curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(transfer, CURLOPT_WRITEDATA, page);
	curl_easy_setopt(transfer, CURLOPT_PRIVATE, page);
	return transfer;
}

/* A page about a table that is replaced meanwhile ends early. */
static bool is_cut(CURLcode code)
{
	return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING;
}

static void explain(struct fetch *page, CURLcode code)
{
	char text[FETCH_ERROR_MAX];

	if (code == CURLE_WRITE_ERROR)
		snprintf(text, sizeof(text), "the page is larger than %zu MB", FETCH_PAGE_MAX >> 20);
	else
		snprintf(text, sizeof(text), "%s", *page->error ? page->error : curl_easy_strerror(code));
	text_mend(text);
	strcpy(page->error, code == CURLE_OK ? "" : text);
}

static void keep_address(struct fetch *page, CURL *transfer)
{
	char *text = NULL;

	page->from = (struct netaddr){0};
	if (curl_easy_getinfo(transfer, CURLINFO_PRIMARY_IP, &text) == CURLE_OK && text)
		netaddr_parse(text, &page->from);
}

/* Ends the transfers that are complete. *cut: the number of those that should be tried again. */
static void finish(CURLM *all, size_t *cut)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(all, &left))) {
		CURL *transfer = message->easy_handle;
		CURLcode code = message->data.result;
		struct fetch *page;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(transfer, CURLINFO_PRIVATE, &page);
		keep_address(page, transfer);
		curl_multi_remove_handle(all, transfer);
		curl_easy_cleanup(transfer);
		explain(page, code);
		page->cut = is_cut(code);
		*cut += page->cut;
	}
}

/* Fetches the pages that have an error. Returns the number of those that should be tried again. */
static size_t fetch_round(CURLM *all, struct fetch *const pages[], size_t count, unsigned timeout_s, bool first)
{
	int running = 1;
	size_t cut = 0;

	for (size_t i = 0; i < count; i++) {
		CURL *transfer = first || pages[i]->cut ? make(pages[i], timeout_s) : NULL;

		if (transfer)
			curl_multi_add_handle(all, transfer);
		else if (first)
			strcpy(pages[i]->error, "out of memory");
	}
	while (running) {
		if (curl_multi_perform(all, &running) != CURLM_OK)
			break;
		finish(all, &cut);
		if (running)
			curl_multi_poll(all, NULL, 0, 1000, NULL);
	}
	return cut;
}

/* Fetches the pages at the same time, and those again that were cut. */
static void fetch_some(CURLM *all, struct fetch *const pages[], size_t count, unsigned timeout_s)
{
	size_t cut = 1;

	for (unsigned try = 0; try < TRIES && cut; try++)
		cut = fetch_round(all, pages, count, timeout_s, try == 0);
}

int fetch_all(struct fetch *const pages[], size_t count, unsigned timeout_s)
{
	CURLM *all = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_multi_init() : NULL;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i += FETCH_AT_A_TIME)
		fetch_some(all, pages + i, count - i < FETCH_AT_A_TIME ? count - i : FETCH_AT_A_TIME, timeout_s);
	curl_multi_cleanup(all);
	curl_global_cleanup();
	return 0;
}
