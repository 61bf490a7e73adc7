/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/metrics/senders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redirect/kernel/pins.h"

static void add(struct senders *senders, const char *interface, const struct redirect_prefixes *prefixes)
{
	struct senders_program *program = &senders->programs[senders->count++];

	*program = (struct senders_program){.count = prefixes->count};
	snprintf(program->interface, sizeof(program->interface), "%s", interface);
	if (program->count > SENDERS_MAX) {
		program->omitted = program->count - SENDERS_MAX;
		program->count = SENDERS_MAX;
	}
	memcpy(program->prefixes, prefixes->items, program->count * sizeof(program->prefixes[0]));
}

static int add_program(const char *interface, void *data)
{
	struct redirect_prefixes prefixes = {0};
	struct senders *senders = data;
	struct pins pins;

	if (senders->count == SENDERS_MAX_PROGRAMS || pins_open(interface, &pins) != 0)
		return 0;
	if (pins.lists.prefixes >= 0 && lists_read(&pins.lists, REDIRECT_LIST_FROM, &prefixes) == 0 && !prefixes.any &&
		prefixes.count)
		add(senders, interface, &prefixes);
	free(prefixes.items);
	pins_close(&pins);
	return 0;
}

void senders_read(struct senders *senders)
{
	senders->count = 0;
	pins_for_each(add_program, senders);
}
