/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "redirect/allow.h"
#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/kernel/attached.h"

enum {
	OPTION_JSON,
};

static const struct command_option options[] = {
	{"json", NULL, "print a JSON object with a member for each interface"},
	{0},
};

/* The state of the program on one interface. */
struct state {
	struct attached attached;
	json_t *allow; /* owned; members for the JSON object */
	json_t *warnings; /* owned; an array of texts about what the counters tell */
};

/* Warns if UDP servers seem not to connect their sockets. It costs them a detour with 2 hops, and connections with
 * more. */
static void warn_of_listeners(struct state *state)
{
	const uint64_t *counters = state->attached.counters;
	uint64_t packets = counters[REDIRECT_UDP_UNCONNECTED_LISTENER] + counters[REDIRECT_RETURNED_TO_FIRST_HOP];

	if (packets)
		json_array_append_new(state->warnings,
			json_sprintf(
				"%" PRIu64
				" UDP packets were for unconnected sockets (udp_unconnected_listener, returned_to_first_hop): if this grows with every packet of a connection, use --udp first-hop",
				packets));
}

static void warn_of_losses(struct state *state)
{
	const uint64_t *losses = state->attached.losses;

	if (losses[LOSSES_KERNEL] || losses[LOSSES_DRIVER])
		json_array_append_new(state->warnings,
			json_sprintf("packets for the next hop were lost after the program: the kernel refused %" PRIu64
				     ", the driver %" PRIu64,
				losses[LOSSES_KERNEL], losses[LOSSES_DRIVER]));
}

/* Returns COMMAND_OK, or COMMAND_FAILED after an error message. */
static int read_state(const char *interface, struct state *state)
{
	struct pins pins;
	int error = pins_open(interface, &pins);

	*state = (struct state){.warnings = json_array()};
	if (error)
		return explain_folder(interface, error);
	attached_read(interface, &pins, &state->attached);
	state->allow = allow_to_json(&state->attached.settings, &pins.lists);
	pins_close(&pins);
	warn_of_listeners(state);
	warn_of_losses(state);
	if (state->attached.settings.without_numbers)
		json_array_append_new(state->warnings, json_string(LOADER_WITHOUT_NUMBERS));
	if (state->attached.location_error)
		return explain_query(interface, state->attached.location_error);
	error = state->attached.companion_error;
	return error ? explain_companion(interface, error) : COMMAND_OK;
}

static void free_state(struct state *state)
{
	json_decref(state->allow);
	json_decref(state->warnings);
}

static bool is_complete(const struct attached *attached)
{
	return attached_here(attached) && attached->companion != COMPANION_MISSING;
}

static void print_companion(const struct attached *attached)
{
	if (attached->companion == COMPANION_MISSING)
		printf("  tc program missing: corrupted packets can reach applications: run glb-redirect attach %s\n",
			attached->interface);
	else
		printf("  tc program by %s\n", companion_name(attached->companion));
}

static void print_settings(const struct state *state)
{
	printf(", version %.16s\n", state->attached.settings.version);
	loader_print_settings(&state->attached.settings);
	allow_print(state->allow);
	if (json_object_size(state->allow))
		printf("  addresses of this host: %s\n", pins_has_follower() ? "followed" : "as of attach or reload");
}

static void print_text(const struct state *state)
{
	const struct attached *attached = &state->attached;
	const json_t *warning;
	size_t i;

	switch (attached->location.place) {
	case PINS_GONE:
		printf("%s: pinned, but its interface is gone\n", attached->interface);
		return;
	case PINS_RENAMED:
		printf("%s: attached to interface %u, which was renamed to %s\n", attached->interface,
			attached->ifindex, attached->location.name);
		return;
	case PINS_ELSEWHERE:
		printf("%s: attached to interface %u of another network namespace\n", attached->interface,
			attached->ifindex);
		return;
	case PINS_HERE:
		break;
	}
	printf("%s: attached, %s mode, program %u", attached->interface, loader_mode_name(attached->location.mode),
		attached->program_id);
	if (attached->has_settings)
		print_settings(state);
	else
		puts("\n  by a version with settings that version " GLB_VERSION " cannot read");
	print_companion(attached);
	if (attached->next_id)
		printf("  next program %u\n", attached->next_id);
	if (!attached->has_losses)
		puts("  packets for the next hop that the kernel or the driver loses are not counted (this needs the kernel's BTF)");
	json_array_foreach(state->warnings, i, warning) printf("  warning: %s\n", json_string_value(warning));
}

static json_t *to_json(const struct state *state)
{
	const struct attached *attached = &state->attached;
	json_t *json = json_pack(
		"{s:b, s:I}", "attached", attached_here(attached), "program_id", (json_int_t)attached->program_id);

	if (attached_here(attached)) {
		json_object_set_new(json, "mode", json_string(loader_mode_name(attached->location.mode)));
		json_object_set_new(json, "tc_program", json_string(companion_name(attached->companion)));
	}
	if (attached->location.place == PINS_RENAMED)
		json_object_set_new(json, "renamed_to", json_string(attached->location.name));
	if (attached->has_settings) {
		json_object_set_new(json, "port", json_integer(attached->settings.port));
		json_object_set_new(json, "udp", json_string(loader_udp_name(attached->settings.udp)));
		json_object_set_new(json, "syn_cookies", json_boolean(attached->settings.syn_cookies));
		json_object_set_new(json, "forward", json_string(loader_forward_name(attached->settings.forward)));
		json_object_set_new(json, "frags", json_boolean(attached->settings.frags));
		json_object_update(json, state->allow);
		json_object_set_new(json, "addresses_followed", json_boolean(pins_has_follower()));
		json_object_set_new(json, "version", json_string(attached->settings.version));
		json_object_set_new(
			json, "next_program", attached->next_id ? json_integer(attached->next_id) : json_null());
		json_object_set_new(json, "lost",
			attached->has_losses
				? json_pack("{s:I, s:I}", losses_names[LOSSES_KERNEL],
					  (json_int_t)attached->losses[LOSSES_KERNEL], losses_names[LOSSES_DRIVER],
					  (json_int_t)attached->losses[LOSSES_DRIVER])
				: json_null());
		json_object_set(json, "warnings", state->warnings);
	}
	return json;
}

struct printing {
	json_t *json; /* NULL: text */
	int count, code;
};

static int print_interface(const char *interface, void *data)
{
	struct printing *printing = data;
	struct state state;

	if (read_state(interface, &state) != COMMAND_OK) {
		free_state(&state);
		printing->code = COMMAND_FAILED;
		return 0; /* continue with the other interfaces */
	}
	if (!is_complete(&state.attached))
		printing->code = COMMAND_FAILED;
	if (printing->json)
		json_object_set_new(printing->json, interface, to_json(&state));
	else
		print_text(&state);
	free_state(&state);
	printing->count++;
	return 0;
}

static int status(const struct command_args *args)
{
	struct printing printing = {.json = args->options[OPTION_JSON] ? json_object() : NULL};
	int error = loader_interface(args) ? print_interface(loader_interface(args), &printing)
					   : pins_for_each(print_interface, &printing);

	if (!error && printing.count == 0 && printing.code == COMMAND_OK)
		error = pins_check_bpffs();
	if (error)
		printing.code = explain_folder(NULL, error);
	if (printing.json) {
		json_dumpf(printing.json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
		putchar('\n');
		json_decref(printing.json);
	} else if (!loader_interface(args) && printing.count == 0 && printing.code == COMMAND_OK) {
		puts("not attached to any interface");
	}
	return printing.code;
}

const struct command status_command = {
	.name = "status",
	.run = status,
	.operands = "[INTERFACE]",
	.summary = "Show where and how the program is attached",
	.options = options,
};
