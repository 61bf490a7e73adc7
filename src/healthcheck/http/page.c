/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/page.h"

#include <stdlib.h>
#include <string.h>

/* A piece ends when it has this many bytes. */
#define PIECE_SIZE 16384

struct page {
	const struct monitor *monitor;
	/* The list of this load. */
	uint64_t loads;
	const struct page_section *section;
	uint32_t table, item;
	/* The piece, and how much of it was read. */
	char *text;
	size_t size, read;
};

/* Prints one item and steps to the next one. */
static void step(struct page *page, FILE *to)
{
	const struct table_set *set = &page->monitor->list.document.set;
	const struct page_section *section = page->section;
	bool end = true;

	switch (section->over) {
	case PAGE_ONCE:
		section->print(to, page->monitor, 0, 0);
		break;
	case PAGE_TABLES:
	case PAGE_BACKENDS:
		end = page->table >= set->count;
		if (end)
			break;
		section->print(to, page->monitor, page->table, page->item);
		if (section->over == PAGE_TABLES || page->item++ == set->tables[page->table].backend_count) {
			page->item = 0;
			page->table++;
		}
		break;
	case PAGE_CHECKS:
		end = page->item >= page->monitor->list.check_count;
		if (!end)
			section->print(to, page->monitor, 0, page->item++);
		break;
	}
	if (!end)
		return;
	page->section++;
	page->table = page->item = 0;
}

static bool fill(struct page *page)
{
	FILE *to;

	free(page->text);
	page->text = NULL;
	page->size = page->read = 0;
	to = open_memstream(&page->text, &page->size);
	if (!to)
		return false;
	while (page->section->print && ftell(to) < PIECE_SIZE)
		step(page, to);
	return fclose(to) == 0;
}

struct page *page_open(const struct monitor *monitor, const struct page_section *sections)
{
	struct page *page = calloc(1, sizeof(*page));

	if (page)
		*page = (struct page){.monitor = monitor, .loads = monitor->counters.loads, .section = sections};
	return page;
}

ssize_t page_read(struct page *page, char *to, size_t size)
{
	if (page->read == page->size) {
		if (!page->section->print)
			return 0;
		if (page->loads != page->monitor->counters.loads || !fill(page))
			return -1;
	}
	if (size > page->size - page->read)
		size = page->size - page->read;
	memcpy(to, page->text + page->read, size);
	page->read += size;
	return (ssize_t)size;
}

void page_close(struct page *page)
{
	free(page->text);
	free(page);
}
