/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what the checks look at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/check/check_environment.h"
#include "cli/doctor/doctor.h"
#include "program/installed.h"
#include "table/file/table_load.h"

/* Returns a copy of ROOT and the path. */
static char *rooted(const struct doctor *doctor, const char *path)
{
	return strdup(host_path(&doctor->host, "%s", path));
}

static void replace(char **text, char *other)
{
	free(*text);
	*text = other;
}

static void take_variable(void *context, const char *name, const char *value)
{
	struct doctor *doctor = context;

	if (strcmp(name, "GLB_DIRECTOR_EAL_ARGS") == 0)
		replace(&doctor->eal_text, strdup(value));
	else if (strcmp(name, "GLB_DIRECTOR_CONFIG_FILE") == 0)
		replace(&doctor->conf_path, rooted(doctor, value));
	else if (strcmp(name, "GLB_DIRECTOR_FORWARDING_TABLE") == 0) {
		replace(&doctor->table_path, rooted(doctor, value));
		replace(&doctor->unit_table_path, rooted(doctor, value));
	}
}

/* Reads the settings of the unit; without its file, those that the unit has by default. */
static void read_environment(struct doctor *doctor)
{
	struct faults faults = {0};

	doctor->environment_path = rooted(doctor, INSTALLED_ENVIRONMENT "/glb-director");
	doctor->conf_path = rooted(doctor, INSTALLED_DIRECTOR_CONF);
	doctor->table_path = rooted(doctor, INSTALLED_TABLE);
	if (access(doctor->environment_path, R_OK) == 0)
		check_environment_read(doctor->environment_path, take_variable, doctor, &faults);
	faults_clear(&faults);
}

/* Returns the reply, or NULL. */
static json_t *ask(struct telemetry *telemetry, const char *command)
{
	struct faults faults = {0};
	json_t *reply = NULL;
	int error = telemetry_socket_ask(&telemetry->socket, command, &reply, &faults);

	/* A reply that comes too late would be taken for that of the next command. */
	if (error && error != -ENOSYS)
		telemetry_close(telemetry);
	faults_clear(&faults);
	return reply;
}

static void read_ports(struct telemetry *telemetry, struct doctor_director *director)
{
	json_t *list = ask(telemetry, "/ethdev/list"), *number;
	size_t i;

	director->ports = json_array();
	json_array_foreach(list, i, number)
	{
		char command[64];
		json_t *info;

		if (i == CONF_MAX_PORTS)
			break;
		snprintf(command, sizeof(command), "/ethdev/info,%d", (int)json_integer_value(number));
		info = ask(telemetry, command);
		if (info)
			json_array_append_new(director->ports, info);
	}
	json_decref(list);
}

/* Returns the file that follows the option in the director's command line, or NULL. */
static const char *option_of(const json_t *words, const char *option)
{
	const json_t *word;
	size_t i;

	json_array_foreach(words, i, word)
	{
		const char *text = json_string_value(word);

		if (text && strcmp(text, option) == 0)
			return json_string_value(json_array_get(words, i + 1));
		if (text && strncmp(text, option, strlen(option)) == 0 && text[strlen(option)] == '=')
			return text + strlen(option) + 1;
	}
	return NULL;
}

/* Returns COMMAND_OK, also if no director runs; or the exit code after an error message about the options. */
static int read_director(struct doctor *doctor, const struct command_args *args)
{
	struct doctor_director *director = &doctor->director;
	struct faults faults = {0};
	struct telemetry telemetry;
	int error = telemetry_connect(&telemetry, args, &faults);
	const char *path;

	if (error) {
		doctor->director_error = error < 0 ? -error : 0;
		doctor->director_fault = strdup(faults_first_error(&faults));
		faults_clear(&faults);
		if (error == -ENOENT)
			doctor->other_prefixes = telemetry_socket_others(&telemetry.socket);
		return error > 0 ? error : COMMAND_OK;
	}
	director->stats = ask(&telemetry, "/glb/stats");
	director->health = ask(&telemetry, "/glb/health");
	director->next_hops = ask(&telemetry, "/glb/next_hops");
	director->params = ask(&telemetry, "/eal/params");
	director->app_params = ask(&telemetry, "/eal/app_params");
	read_ports(&telemetry, director);
	telemetry_close(&telemetry);
	doctor->running = director->stats && director->health;
	if (!doctor->running) {
		doctor->director_error = ETIMEDOUT;
		doctor->director_fault = strdup("the program that listens there does not reply like glb-director");
		return COMMAND_OK;
	}
	path = option_of(director->app_params, "--config-file");
	if (path)
		replace(&doctor->conf_path, strdup(path));
	path = option_of(director->app_params, "--forwarding-table");
	if (path)
		replace(&doctor->table_path, strdup(path));
	return COMMAND_OK;
}

/* The words of the running director, or else those of the unit. */
static void read_eal(struct doctor *doctor)
{
	const char *words[EAL_ARGS_WORDS];
	size_t count = 0, i;
	const json_t *word;
	char *rest = doctor->eal_text;

	if (doctor->running)
		json_array_foreach(doctor->director.params, i,
			word) if (i > 0 && count < EAL_ARGS_WORDS && json_is_string(word)) words[count++] =
			json_string_value(word);
	for (char *text; !doctor->running && count < EAL_ARGS_WORDS && (text = strsep(&rest, " \t\n"));)
		if (*text)
			words[count++] = text;
	eal_args_read(words, count, &doctor->eal);
}

static void add_bound(void *context, const char *name)
{
	struct doctor *doctor = context;
	struct eal_args *eal = &doctor->eal;
	char driver[HOST_ENTRY_MAX], class[HOST_LINE_MAX];

	host_link(host_path(&doctor->host, "/sys/bus/pci/devices/%s/driver", name), driver);
	host_line(host_path(&doctor->host, "/sys/bus/pci/devices/%s/class", name), class);
	if (eal->port_count == EAL_ARGS_MAX_PORTS || strncmp(class, "0x02", 4) != 0 || strcmp(driver, "vfio-pci") != 0)
		return;
	eal->ports[eal->port_count] = (struct eal_args_port){.pci = true};
	snprintf(eal->ports[eal->port_count++].name, EAL_ARGS_NAME, "%.32s", name);
}

/* Without -a, EAL takes every card that is bound to it. */
static void add_all_cards(struct doctor *doctor)
{
	if (!doctor_has_pci(doctor) && !doctor->eal.no_pci)
		host_each(host_path(&doctor->host, "/sys/bus/pci/devices"), add_bound, doctor);
}

/* Without -l and its like, EAL uses all CPUs. */
static void add_all_cpus(struct doctor *doctor)
{
	struct eal_args *eal = &doctor->eal;
	cpu_set_t online;

	if (eal->lcores_given || !host_cpus(host_path(&doctor->host, "/sys/devices/system/cpu/online"), &online))
		return;
	for (uint16_t cpu = 0; cpu < EAL_ARGS_MAX_LCORES; cpu++)
		if (CPU_ISSET(cpu, &online)) {
			CPU_ZERO(&eal->lcores[eal->lcore_count].cpus);
			CPU_SET(cpu, &eal->lcores[eal->lcore_count].cpus);
			eal->lcores[eal->lcore_count++].id = cpu;
		}
}

int doctor_read(struct doctor *doctor, const struct command_args *args, const char *root)
{
	int code = COMMAND_OK;

	doctor->host.root = root;
	doctor->is_copy = *root;
	doctor->root_user = geteuid() == 0;
	read_environment(doctor);
	if (!doctor->is_copy)
		code = read_director(doctor, args);
	if (code != COMMAND_OK)
		return code;
	read_eal(doctor);
	add_all_cards(doctor);
	add_all_cpus(doctor);
	doctor->conf_faults.file = doctor->conf_path;
	doctor->conf_error = conf_read(doctor->conf_path, &doctor->conf, &doctor->conf_faults);
	doctor->table_faults.file = doctor->table_path;
	doctor->table_error =
		table_load(doctor->table_path, &doctor->table, &doctor->table_version, &doctor->table_faults);
	healthcheck_files_read(host_path(&doctor->host, "%s", INSTALLED_HEALTHCHECK_CONF), &doctor->healthcheck);
	doctor->source_path = rooted(doctor, doctor->healthcheck.src ? doctor->healthcheck.src : INSTALLED_TABLE_SOURCE);
	return COMMAND_OK;
}

void doctor_free(struct doctor *doctor)
{
	struct doctor_director *director = &doctor->director;
	json_t *const replies[] = {director->stats, director->health, director->next_hops, director->ports,
		director->params, director->app_params};
	char *const texts[] = {doctor->director_fault, doctor->other_prefixes, doctor->environment_path,
		doctor->eal_text, doctor->conf_path, doctor->table_path, doctor->unit_table_path, doctor->source_path};

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
		json_decref(replies[i]);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	faults_clear(&doctor->conf_faults);
	faults_clear(&doctor->table_faults);
	table_set_free(&doctor->table);
	healthcheck_files_free(&doctor->healthcheck);
}

const char *doctor_pci(const struct doctor *doctor, const struct eal_args_port *port, const char *file)
{
	return host_path(&doctor->host, "/sys/bus/pci/devices/%s/%s", port->name, file);
}

long doctor_node(const struct doctor *doctor, const struct eal_args_port *port)
{
	long node = -1;

	return port->pci && host_number(doctor_pci(doctor, port, "numa_node"), &node) ? node : -1;
}

bool doctor_has_pci(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->eal.port_count; i++)
		if (doctor->eal.ports[i].pci)
			return true;
	return false;
}

/* EAL takes the lowest id unless --main-lcore names another one. */
static int main_lcore(const struct eal_args *eal)
{
	int lowest = eal->lcore_count ? eal->lcores[0].id : -1;

	for (size_t i = 1; i < eal->lcore_count; i++)
		if (eal->lcores[i].id < lowest)
			lowest = eal->lcores[i].id;
	return eal->main_lcore >= 0 ? eal->main_lcore : lowest;
}

static bool is_worker(const struct doctor *doctor, const struct eal_args_lcore *lcore)
{
	if (doctor->conf_error == 0 && doctor->conf.lcore_count) {
		for (uint16_t i = 0; i < doctor->conf.lcore_count; i++)
			if (doctor->conf.lcores[i].id == lcore->id)
				return true;
		return false;
	}
	/* The only lcore forwards, too. */
	return doctor->eal.lcore_count == 1 || lcore->id != main_lcore(&doctor->eal);
}

void doctor_worker_cpus(const struct doctor *doctor, cpu_set_t *cpus)
{
	cpu_set_t online;

	CPU_ZERO(cpus);
	for (size_t i = 0; i < doctor->eal.lcore_count; i++)
		if (is_worker(doctor, &doctor->eal.lcores[i]))
			CPU_OR(cpus, cpus, &doctor->eal.lcores[i].cpus);
	if (host_cpus(host_path(&doctor->host, "/sys/devices/system/cpu/online"), &online))
		CPU_AND(cpus, cpus, &online);
}
