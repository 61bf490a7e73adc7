/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/edit/bind_operand.h"
#include "cli/edit/change.h"
#include "common/file/file.h"
#include "common/file/file_lock.h"
#include "common/text.h"
#include "conf/conf_reader.h"
#include "gue/gue_wire.h"
#include "table/file/json/json_text.h"
#include "table/file/json/table_json.h"

enum { VIP, BACKEND, SOURCE, GATEWAY_MAC, NAME, DIR, HOPS, BALANCE, OPTIONS };

static const struct command_option options[] = {
	[VIP] = {"vip", "BIND,...", "balance packets to these, such as 203.0.113.10:443/tcp"},
	[BACKEND] = {"backend", "IP,...", "addresses of the proxies"},
	[SOURCE] = {"source", "IP", "address of the director, the source of its packets"},
	[GATEWAY_MAC] = {"gateway-mac", "MAC|auto", "next hop to the proxies", "auto"},
	[NAME] = {"name", "NAME", "name of the table", "web"},
	[DIR] = {"dir", "DIR", "write the files there (default: .)"},
	[HOPS] = {"hops", "N", "proxies in each row of the table", GUE_USUAL_HOPS, TABLE_MIN_HOPS, TABLE_MAX_HOPS},
	/* docs/explanation/connections.md has the reasons. */
	[BALANCE] = {"balance", "LIMIT|off", "limit of the imbalance", "1.02"},
	{0},
};

/* A new table has no QUIC configuration, so its binds cannot have QUIC. */
static bool is_bind(const char *text)
{
	struct table_bind bind;

	return bind_operand_parse(text, &bind) && !bind.quic;
}

static bool is_host(const char *text)
{
	struct netaddr addr;

	return netaddr_parse(text, &addr) && netaddr_is_host(&addr);
}

static bool is_ipv6(const char *text)
{
	return strchr(text, ':');
}

static bool is_mac(const char *text)
{
	uint8_t mac[6];

	return strcmp(text, "auto") == 0 || conf_parse_mac(text, mac);
}

static bool is_name(const char *text)
{
	return table_name_is_valid(text, strlen(text));
}

/* What the files need. An answer without a default is asked for on a terminal. */
static const struct question {
	bool (*is_valid)(const char *element);
	bool is_list; /* elements are separated by commas */
	const char *expected, *prompt;
} questions[DIR] = {
	[VIP] = {is_bind, true, "a bind: ADDRESS:PORT/tcp or /udp" BIND_OPERAND_EXAMPLES,
		"VIPs, such as 203.0.113.10:443/tcp, with commas between them"},
	[BACKEND] = {is_host, true, "an address of a proxy", "Addresses of the proxies, with commas between them"},
	[SOURCE] = {is_host, false, "an address of a host", "Address of this director, IPv6 if those of the proxies are"},
	[GATEWAY_MAC] = {is_mac, false, "a MAC address, or auto", "MAC address of the next hop to the proxies"},
	[NAME] = {is_name, false, "a name: at most 255 bytes without control characters", "Name of the table"},
};

/* The content of the files. Strings are owned. */
struct answers {
	char *values[DIR]; /* each element of a list ends with a NUL, and the list with an empty element */
	uint32_t hops;
	const char *balance; /* "off", or a number as JSON writes it */
};

/* Splits a list at its commas, without the spaces around its elements. Every element ends with a NUL, and the list with
 * an empty element. Returns the first element that is not valid, or NULL. */
static const char *split(const struct question *question, char *value)
{
	size_t at = 0, used = 0;
	bool more = question->is_list;

	if (!more)
		return question->is_valid(value) ? NULL : value;
	while (more) {
		size_t size, next;
		char *element = value + used;

		at += strspn(value + at, " ");
		size = next = strcspn(value + at, ",");
		more = value[at + next] == ',';
		while (size > 0 && value[at + size - 1] == ' ')
			size--;
		memmove(element, value + at, size);
		element[size] = '\0';
		if (!question->is_valid(element))
			return element;
		at += next + 1;
		used += size + 1;
	}
	value[used] = '\0';
	return NULL;
}

/* Keeps a copy of the text. False, with an error: it is not valid. */
static bool take(struct answers *answers, int option, const char *text)
{
	size_t size = strlen(text);
	char *copy = calloc(1, size + 2);
	const char *wrong = copy ? NULL : text;

	if (copy) {
		memcpy(copy, text, size);
		wrong = split(&questions[option], copy);
	}
	if (wrong) {
		command_error("--%s: '%s' is not %s", options[option].name, wrong, questions[option].expected);
		free(copy);
		return false;
	}
	answers->values[option] = copy;
	return true;
}

/* Asks until the answer is valid. False: end of the input. */
static bool ask(struct answers *answers, int option)
{
	const char *initial = options[option].fallback;
	char *line = NULL;
	size_t size = 0;
	bool taken = false;

	while (!taken) {
		fprintf(stderr, "%s%s%s%s: ", questions[option].prompt, initial ? " [" : "", initial ? initial : "",
			initial ? "]" : "");
		if (getline(&line, &size, stdin) < 0)
			break;
		line[strcspn(line, "\r\n")] = '\0';
		taken = take(answers, option, *line || !initial ? line : initial);
	}
	free(line);
	return taken || command_error("the input has ended before all questions were answered") == COMMAND_OK;
}

static int get_answers(const struct command_args *args, struct answers *answers)
{
	bool terminal = isatty(STDIN_FILENO);
	uint32_t balance;

	answers->hops = args->numbers[HOPS];
	answers->balance = args->values[BALANCE];
	if (!table_parse_balance(answers->balance, &balance))
		return command_usage(
			"new: --balance: '%s' is neither off nor a number from 1.005 to 2 with at most 3 decimals",
			answers->balance);
	for (int option = 0; option < DIR; option++) {
		const char *given = args->options[option], *initial = options[option].fallback;

		if (!given && !initial && !terminal)
			return command_usage("new: --%s is missing, and standard input is not a terminal for questions",
				options[option].name);
		if (given && !take(answers, option, given))
			return COMMAND_USAGE;
	}
	for (int option = 0; option < DIR; option++) {
		const char *initial = options[option].fallback;

		if (answers->values[option])
			continue;
		if (!terminal || (initial && args->options[VIP])) {
			if (!take(answers, option, initial))
				return COMMAND_FAILED;
		} else if (!ask(answers, option)) {
			return COMMAND_FAILED;
		}
	}
	if (is_ipv6(answers->values[SOURCE]) != is_ipv6(answers->values[BACKEND]))
		return command_error(
			"--source: '%s' and '%s' of a proxy are not of the same family: the director sends from an IPv4 address to IPv4 addresses, and from an IPv6 address to IPv6 addresses",
			answers->values[SOURCE], answers->values[BACKEND]);
	return COMMAND_OK;
}

/* Writes 32 random hex digits. */
static bool make_key(char text[2 * SIPHASH_KEY_SIZE + 1])
{
	uint8_t key[SIPHASH_KEY_SIZE];

	if (!cli_random(key, sizeof(key)))
		return false;
	text_hex(key, sizeof(key), text);
	return true;
}

static void print_bind(FILE *to, const char *operand)
{
	char prefix[NETPREFIX_TEXT_MAX];
	struct table_bind bind;

	bind_operand_parse(operand, &bind);
	fprintf(to, "        { \"ip\": \"%s\", \"proto\": \"%s\", ", netprefix_format(&bind.prefix, prefix),
		table_protocol_name(bind.protocol));
	if (bind.port_start == bind.port_end)
		fprintf(to, "\"port\": %u }", bind.port_start);
	else
		fprintf(to, "\"port_start\": %u, \"port_end\": %u }", bind.port_start, bind.port_end);
}

static void print_backend(FILE *to, const char *operand)
{
	fprintf(to, "        { \"ip\": \"%s\", \"state\": \"active\", \"healthy\": true }", operand);
}

static void print_list(FILE *to, const char *list, void (*print)(FILE *to, const char *element))
{
	for (const char *element = list; *element; element += strlen(element) + 1) {
		fputs(element == list ? "" : ",\n", to);
		print(to, element);
	}
}

/* Returns the text of the table. NULL, with an error: it cannot be made. */
static char *table_text(const struct answers *answers)
{
	char hash_key[2 * SIPHASH_KEY_SIZE + 1], seed[2 * SIPHASH_KEY_SIZE + 1], *text;
	json_t *string = json_text(answers->values[NAME]);
	char *name = json_dumps(string, JSON_ENCODE_ANY);
	size_t size;
	FILE *to = name && make_key(hash_key) && make_key(seed) ? open_memstream(&text, &size) : NULL;

	json_decref(string);
	if (!to) {
		free(name);
		return NULL;
	}
	fprintf(to, "{\n  \"tables\": [\n    {\n      \"name\": %s,\n", name);
	fprintf(to,
		"      \"_secrets\": \"Keep these keys secret, and the same on all directors. New keys break connections.\",\n");
	fprintf(to, "      \"hash_key\": \"%s\",\n      \"seed\": \"%s\",\n      \"hops\": %u,\n", hash_key, seed,
		answers->hops);
	if (strcmp(answers->balance, "off") != 0)
		fprintf(to, "      \"balance\": %s,\n", answers->balance);
	fprintf(to, "      \"binds\": [\n");
	print_list(to, answers->values[VIP], print_bind);
	fprintf(to, "\n      ],\n      \"backends\": [\n");
	print_list(to, answers->values[BACKEND], print_backend);
	fprintf(to, "\n      ]\n    }\n  ]\n}\n");
	free(name);
	return fclose(to) == 0 ? text : NULL;
}

static char *conf_text(const struct answers *answers)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fprintf(to,
		"# Configuration of glb-director. glb-director.conf(5) is the reference.\n\n"
		"# Source address of the GUE packets.\noutbound_src_ip%s = \"%s\";\n\n"
		"# MAC address of the next hop to the proxies. \"auto\": the director follows the kernel's routes.\n"
		"outbound_gateway_mac = \"%s\";\n\n"
		"# The fields of a packet that choose its proxy. All directors of a fleet need the same.\n"
		"hash_fields = {\n",
		is_ipv6(answers->values[SOURCE]) ? "6" : "", answers->values[SOURCE], answers->values[GATEWAY_MAC]);
	for (unsigned i = 0; i < STEERING_FIELD_COUNT; i++)
		fprintf(to, "\t%s = %s;\n", steering_field_names[i], STEERING_SOURCE_ADDRESS >> i & 1 ? "true" : "false");
	fputs("};\n", to);
	return fclose(to) == 0 ? text : NULL;
}

/* Returns true if `check` would report nothing. Prints what it would report. */
static bool is_faultless(const char *path, const char *table)
{
	struct faults faults = {.thorough = true};
	struct table_set set;
	char *file = NULL;
	bool faultless;

	if (asprintf(&file, "%s, as it would be", path) < 0)
		file = NULL;
	faults.file = file ? file : path;
	faultless = table_json_parse(table, strlen(table), &set, &faults) == 0 && faults.count == 0;
	table_set_free(&set);
	cli_print_faults(&faults, FAULTS_ALL);
	free(file);
	if (!faultless)
		command_error("%s: nothing is written, because the table would not be valid", path);
	return faultless;
}

static bool is_folder(const char *path)
{
	struct stat info;

	if (!*path || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
		return true;
	command_error("--dir: there is no folder '%s': create it first", path);
	return false;
}

static bool is_free(const char *path)
{
	struct stat info;

	if (lstat(path, &info) < 0)
		return true;
	command_error("%s: exists, and new overwrites nothing: move it away, or choose another folder with --dir", path);
	return false;
}

static bool write_new(const char *path, const char *text)
{
	struct faults faults = {.file = path};
	mode_t mask = umask(0137);
	bool written;

	umask(mask | 0137); /* the table holds secret keys */
	written = file_replace(path, NULL, text, strlen(text), &faults) == 0;
	umask(mask);
	cli_print_faults(&faults, FAULTS_ALL);
	return written;
}

/* Writes both files or none. */
static bool write_files(const char *table_path, const char *table, const char *conf_path, const char *conf)
{
	struct conf parsed;

	if (!is_free(table_path) || !is_free(conf_path) || !is_faultless(table_path, table) ||
		!write_new(conf_path, conf))
		return false;
	if (cli_load_conf(conf_path, &parsed) && write_new(table_path, table))
		return true;
	unlink(conf_path);
	return false;
}

static void print_next(const char *table, const char *conf)
{
	int stem = (int)strlen(table) - 5;

	printf("%s: written, with new keys\n%s: written\n\nnext:\n", table, conf);
	printf("  glb-director-cli check %s %s\n", table, conf);
	printf("  glb-director-cli build-config %s %.*s.bin\n", table, stem, table);
	printf("  glb-director-cli show %.*s.bin\n", stem, table);
	printf("later, to change the table:\n  glb-director-cli edit --help\n");
}

static int new_run(const struct command_args *args)
{
	const char *folder = args->options[DIR] ? args->options[DIR] : "";
	const char *slash = *folder && folder[strlen(folder) - 1] != '/' ? "/" : "";
	char *table_path = NULL, *conf_path = NULL, *table = NULL, *conf = NULL, *lock_path = NULL;
	struct answers answers = {0};
	int code, lock;

	if (asprintf(&table_path, "%s%sforwarding_table.json", folder, slash) < 0 ||
		asprintf(&conf_path, "%s%sdirector.conf", folder, slash) < 0 ||
		asprintf(&lock_path, "%s" CHANGE_LOCK, table_path) < 0)
		return command_error("out of memory");
	code = is_folder(folder) && is_free(table_path) && is_free(conf_path) ? get_answers(args, &answers)
									      : COMMAND_FAILED;
	if (code == COMMAND_OK) {
		table = table_text(&answers);
		conf = conf_text(&answers);
		lock = change_lock(lock_path, table_path);
		code = lock >= 0 && table && conf && write_files(table_path, table, conf_path, conf) ? COMMAND_OK
												     : COMMAND_FAILED;
		if (lock >= 0)
			file_unlock(lock_path, lock);
	}
	if (code == COMMAND_OK)
		print_next(table_path, conf_path);
	for (int i = 0; i < DIR; i++)
		free(answers.values[i]);
	free(table);
	free(conf);
	free(lock_path);
	free(table_path);
	free(conf_path);
	return code;
}

const struct command new_command = {
	.name = "new",
	.run = new_run,
	.summary = "Write a first table and director.conf, with new keys",
	.options = options,
	.note = "On a terminal, new asks for what is not given.",
};
