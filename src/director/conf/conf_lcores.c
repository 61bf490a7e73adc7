/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/conf/conf_lcores.h"

#include <string.h>

#include "common/text.h"

enum {
	MAX_PORT = 31, /* RTE_MAX_ETHPORTS is 32 */
	MAX_QUEUE = 1023, /* RTE_MAX_QUEUES_PER_PORT is 1024 */
};

#define AT(member) .offset = offsetof(struct conf_flow_path, member)

const struct conf_key conf_flow_path_keys[] = {
	{"rx_port", conf_read_uint16, AT(rx_port), .max = MAX_PORT, .required = "the port to receive from"},
	{"rx_queue", conf_read_uint16, AT(rx_queue), .max = MAX_QUEUE, .required = "the queue to receive from"},
	{"tx_port", conf_read_uint16, AT(tx_port), .max = MAX_PORT, .required = "the port to transmit on"},
	{"tx_queue", conf_read_uint16, AT(tx_queue), .max = MAX_QUEUE, .required = "the queue to transmit on"},
	{0},
};

void conf_read_flow_paths(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct conf *conf = field;

	conf->flow_path_count = (uint16_t)conf_list_length(reader, at, key);
	for (unsigned i = 0; i < conf->flow_path_count; i++)
		conf_read_group(reader, config_setting_get_elem(at, i), key->keys, &conf->flow_paths[i]);
}

/* Reads flow_paths of an lcore, like [0, 1] or (0, 1). field: the struct conf_lcore. */
static void read_path_indices(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct conf_key index = {.max = CONF_MAX_FLOW_PATHS - 1};
	struct conf_lcore *lcore = field;

	lcore->flow_path_count = (uint16_t)conf_list_length(reader, at, key);
	for (unsigned i = 0; i < lcore->flow_path_count; i++)
		conf_read_uint16(reader, config_setting_get_elem(at, i), &index, &lcore->flow_paths[i]);
}

#undef AT
#define AT(member) .offset = offsetof(struct conf_lcore, member)

const struct conf_key conf_lcore_keys[] = {
	{"rx", conf_read_bool, AT(rx), "false"},
	{"tx", conf_read_bool, AT(tx), "false"},
	{"flow_paths", read_path_indices, .min = 1, .max = CONF_MAX_FLOW_PATHS, .items = "indices",
		.expected = "is not a list of indices into flow_paths, like [0, 1]"},
	{"dist", conf_read_bool, AT(dist), "false"},
	{"num_dist_workers", conf_read_uint16, AT(num_dist_workers), .min = 1, .max = CONF_MAX_LCORES - 1},
	{"work", conf_read_bool, AT(work), "false"},
	{"work_source", conf_read_uint16, AT(work_source), .max = CONF_MAX_LCORES - 1},
	{0},
};

static bool parse_lcore_id(const char *name, uint16_t *id)
{
	static const char prefix[] = "lcore-";
	size_t size = sizeof(prefix) - 1;
	uint32_t value;

	if (strncmp(name, prefix, size) != 0 || !text_number(name + size, 0, CONF_MAX_LCORES - 1, &value))
		return false;
	*id = (uint16_t)value;
	return true;
}

void conf_read_lcores(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct conf *conf = field;
	unsigned count = config_setting_is_group(at) ? (unsigned)config_setting_length(at) : 0;

	if (count == 0)
		conf_wrong(reader, at, CONFIG_TYPE_GROUP, "is not a group { lcore-1 = { ... }; ... } of lcores");
	for (unsigned i = 0; i < count; i++) {
		const config_setting_t *group = config_setting_get_elem(at, i);
		struct conf_lcore *lcore;
		uint16_t id;

		if (!parse_lcore_id(config_setting_name(group), &id)) {
			conf_error(reader, group, NULL, "is not named lcore-0 to lcore-%d", CONF_MAX_LCORES - 1);
			continue;
		}
		/* libconfig refuses duplicate names, so the array has room for all. */
		lcore = &conf->lcores[conf->lcore_count++];
		lcore->id = id;
		conf_read_group(reader, group, key->keys, lcore);
	}
}

/* Refuses a key that has no meaning in the role of this lcore. */
static void refuse(struct conf_reader *reader, const config_setting_t *group, const char *name, const char *why)
{
	const config_setting_t *at = config_setting_get_member(group, name);

	if (at)
		conf_error(reader, at, NULL, "%s", why);
}

static void check_role(struct conf_reader *reader, const config_setting_t *group, const struct conf_lcore *lcore)
{
	if (lcore->rx != lcore->tx) {
		conf_error(reader, group, NULL, "rx and tx go together: set both, or neither");
	} else if (lcore->rx && lcore->work) {
		conf_error(reader, group, "work",
			"an lcore with rx and tx already works on the packets that it receives; remove work");
	} else if (lcore->rx) {
		refuse(reader, group, "work_source", "is for lcores with work = true");
		if (lcore->flow_path_count == 0)
			conf_error(reader, group, "flow_paths",
				"missing; rx and tx need indices into flow_paths, like [0]");
	} else {
		refuse(reader, group, "flow_paths", "is for lcores with rx = true and tx = true");
		if (lcore->dist)
			conf_error(reader, group, "dist", "a distributor needs rx = true and tx = true");
		else if (!lcore->work)
			conf_error(reader, group, NULL, "has no role: set rx and tx, or work and work_source");
		else if (!config_setting_get_member(group, "work_source"))
			conf_error(reader, group, "work_source",
				"missing; write the number N of the distributor's lcore-N");
	}
	if (lcore->dist && !lcore->num_dist_workers)
		conf_error(reader, group, "num_dist_workers", "missing; write how many lcores work for it");
	if (!lcore->dist)
		refuse(reader, group, "num_dist_workers", "is for lcores with dist = true");
}

static const struct conf_lcore *find_lcore(const struct conf *conf, uint16_t id)
{
	for (uint16_t i = 0; i < conf->lcore_count; i++)
		if (conf->lcores[i].id == id)
			return &conf->lcores[i];
	return NULL;
}

/* Checks that work_source is a distributor, and that a distributor has num_dist_workers workers. */
static void check_workers(struct conf_reader *reader, const config_setting_t *group, const struct conf_lcore *lcore)
{
	const struct conf *conf = reader->conf;
	const struct conf_lcore *source = lcore->work ? find_lcore(conf, lcore->work_source) : NULL;
	unsigned workers = 0;

	if (lcore->work && !(source && source->dist))
		conf_error(reader, group, "work_source", "'%u' is not an lcore with dist = true", lcore->work_source);
	for (uint16_t i = 0; i < conf->lcore_count; i++)
		workers += conf->lcores[i].work && conf->lcores[i].work_source == lcore->id;
	if (lcore->dist && workers == 0)
		conf_error(reader, group, "dist", "no lcore has work_source = %u; remove dist and num_dist_workers",
			lcore->id);
	else if (lcore->dist && workers != lcore->num_dist_workers)
		conf_error(reader, group, "num_dist_workers", "'%u', but %u %s work_source = %u; write %u",
			lcore->num_dist_workers, workers, workers == 1 ? "lcore has" : "lcores have", lcore->id, workers);
}

/* Checks that every flow path exists and belongs to exactly one lcore. */
static void check_path_owners(struct conf_reader *reader, const config_setting_t *lcores, const config_setting_t *paths)
{
	const struct conf *conf = reader->conf;
	const struct conf_lcore *owners[CONF_MAX_FLOW_PATHS] = {0};

	for (uint16_t i = 0; i < conf->lcore_count; i++) {
		const config_setting_t *at = config_setting_get_member(config_setting_get_elem(lcores, i), "flow_paths");
		const struct conf_lcore *lcore = &conf->lcores[i];

		for (uint16_t j = 0; j < lcore->flow_path_count; j++) {
			uint16_t path = lcore->flow_paths[j];
			const config_setting_t *index = config_setting_get_elem(at, j);

			if (path >= conf->flow_path_count)
				conf_error(reader, index, NULL, "'%u', but flow_paths has %u element%s", path,
					conf->flow_path_count, text_plural(conf->flow_path_count));
			else if (owners[path])
				conf_error(reader, index, NULL, "'%u' already belongs to lcore-%u", path,
					owners[path]->id);
			else
				owners[path] = lcore;
		}
	}
	for (uint16_t i = 0; i < conf->flow_path_count; i++)
		if (!owners[i])
			conf_error(reader, config_setting_get_elem(paths, i), NULL,
				"belongs to no lcore, so its queue would never be read");
}

/* Checks that no queue is used twice, and that all queues are below num_worker_queues. */
static void check_queues(struct conf_reader *reader, const config_setting_t *paths)
{
	const struct conf *conf = reader->conf;
	unsigned queues = conf->num_worker_queues;

	for (uint16_t i = 0; i < conf->flow_path_count; i++) {
		const config_setting_t *at = config_setting_get_elem(paths, i);
		const struct conf_flow_path *a = &conf->flow_paths[i];

		if (queues && a->rx_queue >= queues)
			conf_error(reader, at, "rx_queue", "'%u', but num_worker_queues is %u", a->rx_queue, queues);
		if (queues && a->tx_queue >= queues)
			conf_error(reader, at, "tx_queue", "'%u', but num_worker_queues is %u", a->tx_queue, queues);
		for (uint16_t j = 0; j < i; j++) {
			const struct conf_flow_path *b = &conf->flow_paths[j];

			if (a->rx_port == b->rx_port && a->rx_queue == b->rx_queue)
				conf_error(reader, at, NULL, "receives from port %u queue %u like flow_paths[%u]",
					a->rx_port, a->rx_queue, j);
			if (a->tx_port == b->tx_port && a->tx_queue == b->tx_queue)
				conf_error(reader, at, NULL, "transmits on port %u queue %u like flow_paths[%u]",
					a->tx_port, a->tx_queue, j);
		}
	}
}

void conf_check_lcores(struct conf_reader *reader, const config_setting_t *root)
{
	const config_setting_t *lcores = config_setting_get_member(root, "lcores");
	const config_setting_t *paths = config_setting_get_member(root, "flow_paths");
	const struct conf *conf = reader->conf;
	size_t errors = reader->faults->errors;

	if (!lcores && !paths)
		return;
	if (!lcores || !paths) {
		conf_error(reader, lcores ? lcores : paths, NULL,
			"needs %s, too; without both keys, every lcore polls its own queues",
			lcores ? "flow_paths" : "lcores");
		return;
	}
	for (uint16_t i = 0; i < conf->lcore_count; i++)
		check_role(reader, config_setting_get_elem(lcores, i), &conf->lcores[i]);
	if (reader->faults->errors == errors) {
		for (uint16_t i = 0; i < conf->lcore_count; i++)
			check_workers(reader, config_setting_get_elem(lcores, i), &conf->lcores[i]);
		check_path_owners(reader, lcores, paths);
	}
	check_queues(reader, paths);
}
