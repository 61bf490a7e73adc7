/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "common/isa.h"
#include "common/netaddr.h"
#include "director/admission/conf_admission.h"
#include "director/conf/conf_interfaces.h"
#include "director/conf/conf_lcores.h"
#include "director/conf/conf_metrics.h"
#include "table/table_guard.h"

static void read_gateway(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];
	uint8_t mac[6];

	if (text && strcmp(text, "auto") == 0)
		((struct conf *)reader->conf)->gateway_auto = true;
	else if (!text || !conf_parse_mac(text, mac))
		conf_error(reader, at, NULL, "%s is neither \"auto\" nor a MAC like 02:00:5e:10:00:01",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else
		conf_read_mac(reader, at, key, field);
}

static void read_source_ip(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];
	struct netaddr addr;

	(void)key;
	if (!text || !netaddr_parse(text, &addr) || addr.family != NETADDR_V4)
		conf_error(reader, at, NULL, "%s is not an IPv4 address", conf_value(at, CONFIG_TYPE_STRING, value));
	else if (!netaddr_is_unicast(&addr))
		conf_error(reader, at, NULL, "%s is not a unicast address that other hosts can reply to",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else
		memcpy(field, addr.bytes, 4);
}

struct fields {
	bool src_addr, dst_addr, src_port, dst_port;
};

static void read_fields(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct conf_key keys[] = {
		{.name = "src_addr", .read = conf_read_bool, .offset = offsetof(struct fields, src_addr)},
		{.name = "dst_addr", .read = conf_read_bool, .offset = offsetof(struct fields, dst_addr)},
		{.name = "src_port", .read = conf_read_bool, .offset = offsetof(struct fields, src_port)},
		{.name = "dst_port", .read = conf_read_bool, .offset = offsetof(struct fields, dst_port)},
		{0},
	};
	struct fields fields = {0};
	size_t errors = reader->faults->errors;
	uint8_t mask;

	(void)key;
	conf_read_group(reader, at, keys, &fields);
	mask = (uint8_t)((fields.src_addr ? STEERING_SOURCE_ADDRESS : 0) |
			 (fields.dst_addr ? STEERING_DESTINATION_ADDRESS : 0) |
			 (fields.src_port ? STEERING_SOURCE_PORT : 0) |
			 (fields.dst_port ? STEERING_DESTINATION_PORT : 0));
	if (mask)
		*(uint8_t *)field = mask;
	else if (reader->faults->errors == errors)
		conf_error(reader, at, NULL,
			"no field is true; set at least one of src_addr, dst_addr, src_port and dst_port");
}

static void read_limits(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct conf_key keys[] = {
		{.name = "control",
			.read = conf_read_unsigned,
			.offset = offsetof(struct conf_exception_limits, control),
			.max = CONF_MAX_EXCEPTIONS},
		{.name = "other",
			.read = conf_read_unsigned,
			.offset = offsetof(struct conf_exception_limits, other),
			.max = CONF_MAX_EXCEPTIONS},
		{0},
	};

	(void)key;
	conf_read_group(reader, at, keys, field);
}

static const char *const exception_paths[] = {"none", "tap", "virtio-user", NULL};
static const char *const rss_fields[] = {"addresses", "addresses_and_ports", NULL};
static const char *const idles[] = {"poll", "sleep", NULL};
static const char *const isas[] = {"auto", "scalar", "avx2", "avx512", NULL};

static const struct conf_key conf_keys[] = {
	{.name = "outbound_gateway_mac",
		.read = read_gateway,
		.offset = offsetof(struct conf, gateway_mac),
		.required = "\"auto\" or the next hop's MAC"},
	{.name = "outbound_src_ip",
		.read = read_source_ip,
		.offset = offsetof(struct conf, outbound_src_ip),
		.required = "the director's own IPv4 address"},
	{.name = "outbound_vrf", .read = conf_read_interface, .offset = offsetof(struct conf, outbound_vrf)},
	{.name = "port_interfaces", .read = conf_read_port_interfaces},
	{.name = "hash_fields", .read = read_fields, .offset = offsetof(struct conf, steering.hash_fields)},
	{.name = "alt_hash_fields", .read = read_fields, .offset = offsetof(struct conf, steering.alt_hash_fields)},
	{.name = "forward_icmp_ping_responses",
		.read = conf_read_bool,
		.offset = offsetof(struct conf, steering.forward_ping)},
	{.name = "outbound_mtu",
		.read = conf_read_uint16,
		.offset = offsetof(struct conf, steering.outbound_mtu),
		.min = 576,
		.max = 9216},
	{.name = "outbound_udp_checksum", .read = conf_read_bool, .offset = offsetof(struct conf, steering.udp_checksum)},
	{.name = "send_icmp_too_big", .read = conf_read_bool, .offset = offsetof(struct conf, steering.send_too_big)},
	{.name = "send_icmp_too_big_without_df",
		.read = conf_read_bool,
		.offset = offsetof(struct conf, steering.reply_without_df)},
	{.name = "accept_macs", .read = conf_read_accept_macs, .offset = offsetof(struct conf, steering.admission)},
	{.name = "accept_vlans", .read = conf_read_accept_vlans, .offset = offsetof(struct conf, steering.admission)},
	{.name = "outbound_vlan", .read = conf_read_outbound_vlan, .offset = offsetof(struct conf, steering.admission)},
	{.name = "drop_martians",
		.read = conf_read_bool,
		.offset = offsetof(struct conf, steering.admission.drop_martians)},
	{.name = "exception_path",
		.read = conf_read_choice,
		.offset = offsetof(struct conf, exception_path),
		.choices = exception_paths},
	{.name = "exception_limits", .read = read_limits, .offset = offsetof(struct conf, exception_limits)},
	{.name = "idle", .read = conf_read_choice, .offset = offsetof(struct conf, idle), .choices = idles},
	{.name = "isa", .read = conf_read_choice, .offset = offsetof(struct conf, isa), .choices = isas},
	{.name = "metrics", .read = conf_read_metrics, .offset = offsetof(struct conf, metrics)},
	{.name = "statsd", .read = conf_read_statsd, .offset = offsetof(struct conf, statsd)},
	{.name = "max_shrink", .read = conf_read_uint16, .offset = offsetof(struct conf, max_shrink), .max = TABLE_GUARD_OFF},
	{.name = "stop_delay_ms", .read = conf_read_uint16, .offset = offsetof(struct conf, stop_delay_ms), .max = 60000},
	{.name = "rx_drop_en", .read = conf_read_bool, .offset = offsetof(struct conf, rx_drop_en)},
	{.name = "rx_descriptors",
		.read = conf_read_uint16,
		.offset = offsetof(struct conf, rx_descriptors),
		.min = 64,
		.max = CONF_MAX_DESCRIPTORS},
	{.name = "tx_descriptors",
		.read = conf_read_uint16,
		.offset = offsetof(struct conf, tx_descriptors),
		.min = 64,
		.max = CONF_MAX_DESCRIPTORS},
	{.name = "mbufs", .read = conf_read_unsigned, .offset = offsetof(struct conf, mbufs), .max = 1 << 24},
	{.name = "rss_fields", .read = conf_read_choice, .offset = offsetof(struct conf, rss_fields), .choices = rss_fields},
	{.name = "num_worker_queues",
		.read = conf_read_uint16,
		.offset = offsetof(struct conf, num_worker_queues),
		.max = 1024},
	{.name = "flow_paths", .read = conf_read_flow_paths},
	{.name = "lcores", .read = conf_read_lcores},
	{0},
};

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct conf *conf = reader->conf;
	size_t errors = reader->faults->errors;

	conf_read_group(reader, root, conf_keys, conf);
	conf->steering.exception_path = conf->exception_path != CONF_EXCEPTION_NONE;
	if (reader->faults->errors != errors)
		return; /* the checks below would report consequences of these errors */
	conf_check_lcores(reader, root);
	conf_check_interfaces(reader, root);
	if (conf->steering.reply_without_df && !conf->steering.send_too_big)
		conf_warn(reader, config_setting_get_member(root, "send_icmp_too_big_without_df"), NULL,
			"has no effect, because send_icmp_too_big is false");
	if (!conf->steering.exception_path && config_setting_get_member(root, "exception_limits"))
		conf_warn(reader, config_setting_get_member(root, "exception_limits"), NULL,
			"has no effect, because exception_path is \"none\"");
	if (conf->steering.exception_path && !conf->exception_limits.control)
		conf_warn(reader, config_setting_get_member(root, "exception_limits"), "control",
			"0 lets neither ARP nor ND through, so nobody reaches the kernel; set at least 100");
	if (conf->isa != CONF_ISA_AUTO && !isa_usable((enum isa)(conf->isa - CONF_ISA_SCALAR)))
		conf_warn(reader, config_setting_get_member(root, "isa"), NULL,
			"this CPU cannot run it, so a director does not start on this host; use \"auto\"");
	conf_check_admission(reader, root, &conf->steering.admission);
	if (conf->steering.alt_hash_fields == conf->steering.hash_fields)
		conf_warn(reader, config_setting_get_member(root, "alt_hash_fields"), NULL,
			"names the same fields as hash_fields, so it has no effect");
}

int conf_read(const char *path, struct conf *conf, struct faults *faults)
{
	static const struct conf_retired retired[] = {
		{.word = "statsd_port", .as_key = "is written as a group now: statsd = { port = 28125; }"},
		{.word = "kni_ip",
			.as_key = "KNI was removed from DPDK; remove this key, and give the address to the interface of exception_path"},
		{"kni", "KNI was removed from DPDK; remove this key and set exception_path = \"tap\"",
			"'kni' was removed from DPDK; use \"tap\" or \"virtio-user\""},
		{0},
	};
	struct conf_reader reader = {.conf = conf, .faults = faults, .retired = retired};

	*conf = (struct conf){
		.steering =
			{
				.hash_fields = STEERING_SOURCE_ADDRESS,
				.forward_ping = true,
				.outbound_mtu = 1500,
				.admission = conf_admission_default(),
			},
		.exception_limits = {.control = 10000, .other = 1000},
		.rx_drop_en = true,
		.rx_descriptors = 1024,
		.tx_descriptors = 1024,
		.rss_fields = CONF_RSS_ADDRESSES_AND_PORTS,
		.metrics = conf_metrics_default(),
		.max_shrink = TABLE_GUARD_MAX_SHRINK,
	};
	return conf_read_file(path, &reader, read_root);
}

unsigned conf_count_keys_in(const char *text)
{
	return conf_count_keys(text, conf_keys);
}
