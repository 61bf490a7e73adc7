/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/doctor/eal_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/host/cpu_list.h"
#include "common/text.h"

/* Adds PCI addresses with their domain, as the kernel writes them. */
static void add_pci(struct eal_args *args, const char *value)
{
	struct eal_args_port *port = &args->ports[args->port_count];
	unsigned domain = 0, bus, device, function;

	if (args->port_count == EAL_ARGS_MAX_PORTS)
		return;
	if (sscanf(value, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) {
		domain = 0;
		if (sscanf(value, "%x:%x.%x", &bus, &device, &function) != 3)
			return;
	}
	*port = (struct eal_args_port){.pci = true};
	snprintf(port->name, sizeof(port->name), "%04x:%02x:%02x.%x", domain & 0xffffffff, bus & 0xff, device & 0xff,
		function & 0xf);
	args->port_count++;
}

/* Returns whether iface= is an interface of this host. net_tap makes it, and the iface of net_vhost is a socket. */
static bool uses_interface(const char *vdev)
{
	return strncmp(vdev, "net_tap", strlen("net_tap")) != 0 && strncmp(vdev, "net_vhost", strlen("net_vhost")) != 0;
}

static void add_vdev(struct eal_args *args, const char *value)
{
	struct eal_args_port *port = &args->ports[args->port_count];
	const char *interface = uses_interface(value) ? strstr(value, ",iface=") : NULL;

	if (args->port_count == EAL_ARGS_MAX_PORTS)
		return;
	*port = (struct eal_args_port){.pci = false};
	snprintf(port->name, sizeof(port->name), "%.*s", (int)strcspn(value, ","), value);
	if (interface) {
		interface += strlen(",iface=");
		snprintf(port->interface, sizeof(port->interface), "%.*s", (int)strcspn(interface, ","), interface);
	}
	args->port_count++;
}

static void add_lcore(struct eal_args *args, unsigned id, const cpu_set_t *cpus)
{
	if (id < CONF_MAX_LCORES && args->lcore_count < EAL_ARGS_MAX_LCORES)
		args->lcores[args->lcore_count++] = (struct eal_args_lcore){.id = (uint16_t)id, .cpus = *cpus};
}

/* Adds lcores that run on the CPU of their number, or all on `cpus`. */
static void add_lcores(struct eal_args *args, const cpu_set_t *lcores, const cpu_set_t *cpus)
{
	for (unsigned id = 0; id < CPU_SETSIZE; id++) {
		cpu_set_t own;

		CPU_ZERO(&own);
		CPU_SET(id, &own);
		if (CPU_ISSET(id, lcores))
			add_lcore(args, id, cpus ? cpus : &own);
	}
}

/* Takes "3", "0-3" or "(0-3,5)". */
static bool take_set(const char **text, cpu_set_t *set)
{
	bool group = **text == '(';
	char one[16];
	size_t size = strcspn(*text, ",@");

	if (group) {
		++*text;
		return cpu_list_take(text, set) && *(*text)++ == ')';
	}
	if (size >= sizeof(one))
		return false;
	memcpy(one, *text, size);
	one[size] = '\0';
	*text += size;
	return size && cpu_list_read(one, set);
}

/* Reads the value of --lcores, such as "0@0,1@(2,3),(4-5)@6". */
static bool read_lcores(struct eal_args *args, const char *text)
{
	cpu_set_t lcores, cpus;

	do {
		bool group;

		text += *text == ',';
		group = *text == '(';
		if (!take_set(&text, &lcores))
			return false;
		if (*text == '@') {
			text++;
			if (!take_set(&text, &cpus))
				return false;
			add_lcores(args, &lcores, &cpus);
		} else {
			/* The lcores of a group without CPUs share those of their numbers. */
			add_lcores(args, &lcores, group ? &lcores : NULL);
		}
	} while (*text == ',');
	return *text == '\0';
}

static bool read_mask(struct eal_args *args, const char *text)
{
	char *end;
	unsigned long long mask = strtoull(text, &end, 16);
	cpu_set_t lcores;

	CPU_ZERO(&lcores);
	for (unsigned id = 0; id < 64; id++)
		if (mask >> id & 1)
			CPU_SET(id, &lcores);
	add_lcores(args, &lcores, NULL);
	return *text && *end == '\0';
}

static void read_option(struct eal_args *args, char option, const char *value)
{
	cpu_set_t lcores;
	uint32_t number;
	bool known = true;

	switch (option) {
	case 'a':
		add_pci(args, value);
		break;
	case 'v':
		add_vdev(args, value);
		break;
	case 'm':
		args->memory_mb = text_number(value, 0, UINT32_MAX, &number) ? number : 0;
		break;
	case 'M':
		args->main_lcore = text_number(value, 0, CONF_MAX_LCORES - 1, &number) ? (int)number : -1;
		break;
	default:
		args->lcores_given = true;
		args->lcore_count = 0;
		if (option == 'l' && (known = cpu_list_read(value, &lcores)))
			add_lcores(args, &lcores, NULL);
		else if (option == 'c')
			known = read_mask(args, value);
		else if (option == 'L')
			known = read_lcores(args, value);
		args->lcores_unknown = !known;
	}
}

/* Options with a value. */
static const struct {
	char option;
	const char *letter, *name;
} options[] = {
	{'a', "-a", "--allow"},
	{'v', NULL, "--vdev"},
	{'m', "-m", NULL},
	{'M', NULL, "--main-lcore"},
	{'l', "-l", NULL},
	{'c', "-c", NULL},
	{'L', NULL, "--lcores"},
};

/* Finds the value of the option that the word names, which may be in `next`. *uses_next: whether it is. NULL: another
 * word. */
static const char *value_of(size_t option, const char *word, const char *next, bool *uses_next)
{
	const char *letter = options[option].letter, *name = options[option].name;

	*uses_next = (letter && strcmp(word, letter) == 0) || (name && strcmp(word, name) == 0);
	if (*uses_next)
		return next;
	if (letter && strncmp(word, letter, strlen(letter)) == 0)
		return word + strlen(letter);
	if (name && strncmp(word, name, strlen(name)) == 0 && word[strlen(name)] == '=')
		return word + strlen(name) + 1;
	return NULL;
}

void eal_args_read(const char *const words[], size_t count, struct eal_args *args)
{
	*args = (struct eal_args){.main_lcore = -1};
	for (size_t i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
		args->no_huge |= strcmp(words[i], "--no-huge") == 0;
		args->no_pci |= strcmp(words[i], "--no-pci") == 0;
		args->in_memory |= strcmp(words[i], "--in-memory") == 0;
		for (size_t option = 0; option < sizeof(options) / sizeof(options[0]); option++) {
			bool uses_next;
			const char *value = value_of(option, words[i], i + 1 < count ? words[i + 1] : NULL, &uses_next);

			if (!value)
				continue;
			read_option(args, options[option].option, value);
			i += uses_next;
			break;
		}
	}
}
