/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the subcommands. The program has one thread. Only the files of this folder print. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/faults.h"
#include "director/conf/conf.h"
#include "packet/routes.h"
#include "program/command.h"
#include "table/table.h"

/* Exit codes beyond COMMAND_*: docs/reference/cli.md. */
enum {
	CLI_BROKEN = 3, /* diff, edit, undo: more connections would break than --max-broken allows */
	CLI_REFUSED = 3, /* reload: the director refused the table; glb-fleet reads this code from systemd */
	CLI_TIMEOUT = 4, /* rollout: --timeout is over */
	CLI_CHECK_WARNINGS = 1,
	CLI_CHECK_ERRORS = 2,
	CLI_HEALTH_DEGRADED = 1,
	CLI_HEALTH_BAD = 2, /* health: do not send packets to this director */
};

/* Each command is defined in the file with its name, such as show.c or migrate/migrate.c. */
extern const struct command build_config_command, check_command, show_command, lookup_command, diff_command,
	replay_command, decode_command, migrate_command, reload_command, stats_command, edit_command, undo_command,
	new_command, next_hops_command, tables_command, health_command, capture_command, doctor_command,
	simulate_command, plan_command, rollout_command, fleet_command, quic_command;

#define cli_print_faults command_faults

/* Prints real numbers as people write them: 0.1, not 0.10000000000000001. */
#define CLI_JSON (JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15))

/* Prints `json`, which it takes over, on stdout. Returns COMMAND_OK or COMMAND_FAILED. */
int cli_print_json(json_t *json);

/*
 * Read a file. They print the errors and return false if that fails. The caller frees the result.
 * *version is the version of a binary table or 0 for JSON; it may be NULL.
 */
bool cli_load_table(const char *path, struct table_set *set, uint32_t *version);
bool cli_load_routes(const char *path, struct routes **routes, uint32_t *version);
bool cli_load_conf(const char *path, struct conf *conf);

struct table_document;

/* Reads a table that could be loaded with its health checks. The document stays empty if the table is binary. */
void cli_read_document(const char *path, struct table_document *document);

/* Run build-config and reload for other subcommands, such as edit. They print no warnings about the JSON table,
 * and return the exit code. */
int cli_build_config(const char *from, const char *to);
/* The first options of the subcommand must be TELEMETRY_OPTION_LIST. */
int cli_reload(const struct command_args *args);

/* Offers backends and tables of the first operand to the shell. */
command_values cli_values;
void edit_offer_verbs(void); /* of the subcommand edit */
void rollout_offer_actions(void); /* of the subcommand rollout */

/*
 * Finds the table that `text` names: its name, or "#INDEX". Sets *index and returns true; or prints an error, which
 * names the file `path` and lists its tables, and returns false.
 */
bool cli_find_table(const struct table_set *set, const char *path, const char *text, uint32_t *index);

/* Returns the labels of all tables with commas between them; the caller frees them. NULL: out of memory. */
char *cli_table_names(const struct table_set *set);

/* The bind as a JSON object with the keys ip, proto, port_start and port_end, and quic if it is true. */
json_t *cli_bind_json(const struct table_bind *bind);

/* Returns the backend's weight; null if it is not known, because the table is binary. */
json_t *cli_weight_json(const struct table_backend *backend);

/* The QUIC configuration without its key, which is secret. */
json_t *cli_quic_json(const struct quic_config *config);

/* The server IDs of a backend as an array of texts. */
json_t *cli_server_ids_json(const struct quic_server_id ids[QUIC_MAX_SERVER_IDS]);

/* Returns the ending of a verb after this number: "1 row changes", "2 rows change". */
static inline const char *cli_verb(uint64_t count)
{
	return count == 1 ? "s" : "";
}

/* Fills the bytes with random ones. False, with an error: the kernel gives none. */
bool cli_random(void *bytes, size_t size);

/* "up" or "down" */
const char *cli_health_name(bool healthy);
