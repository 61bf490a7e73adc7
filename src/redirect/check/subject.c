/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/check/check.h"

#include <errno.h>
#include <linux/if_link.h>
#include <string.h>

#include "gue/gue_wire.h"
#include "program/command.h"
#include "redirect/check/ruleset.h"
#include "redirect/kernel/pins.h"

static void read_conf(struct check *check, const char *config_file)
{
	check->config_file = config_file ? config_file : check->settings.config_file;
	check->faults.file = check->config_file;
	redirect_conf_init(&check->conf);
	if (*check->config_file)
		redirect_conf_read(check->config_file, &check->conf, &check->faults);
}

/* Without permission, or if nothing is attached, the settings are those of attach without options. */
static void read_program(struct check *check)
{
	struct pins_location location;
	struct pins pins;
	int error;

	check->settings = (struct redirect_settings){.port = GUE_PORT};
	error = pins_open(check->interface, &pins);
	check->hidden = error && error != -ENOENT;
	if (error)
		return;
	if (pins_locate(check->interface, &pins, &location) == 0 && location.place == PINS_HERE) {
		check->attached = true;
		check->generic = location.mode == XDP_ATTACHED_SKB;
		if (pins_read_settings(&pins, &check->settings) != 0)
			check->settings = (struct redirect_settings){.port = GUE_PORT};
	}
	pins_close(&pins);
}

int subject_read(const char *interface, const char *vips, const char *config_file, struct check *check)
{
	char word[NETPREFIX_TEXT_MAX];
	int error;

	*check = (struct check){.interface = interface};
	error = links_read(&check->links);
	if (!error)
		error = addresses_read(&check->addresses);
	if (error)
		return command_error("cannot read the interfaces and their addresses: %s", strerror(-error));
	check->link = links_by_name(&check->links, interface);
	check->ip = check->link ? links_of_ip(&check->links, check->link) : NULL;
	read_program(check);
	read_conf(check, config_file);
	check->sockets_error = diag_read(&check->sockets);
	check->ruleset_error = ruleset_read(&check->ruleset, &check->ruleset_tables);
	if (vips)
		return vips_add_list(&check->vips, vips, word)
			       ? COMMAND_OK
			       : command_usage("--vip: '%s' is not an address or a prefix", word);
	if (check->conf.allow_to.count)
		vips_add_prefixes(&check->vips, &check->conf.allow_to);
	else
		vips_add_of_lo(&check->vips, &check->addresses, &check->links);
	return COMMAND_OK;
}

void subject_free(struct check *check)
{
	links_free(&check->links);
	addresses_free(&check->addresses);
	diag_free(&check->sockets);
	redirect_conf_free(&check->conf);
	faults_clear(&check->faults);
	json_decref(check->ruleset);
	check->ruleset = NULL;
}
