/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/conf/conf.h"

#include <ctype.h>
#include <string.h>

#include "common/isa.h"
#include "common/text.h"
#include "conf/conf_reader.h"
#include "director/admission/conf_admission.h"
#include "director/conf/conf_lcores.h"
#include "table/table_guard.h"

#define LETTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const char *parse_gateway(const char *text, void *field)
{
	struct conf *conf = field;
	uint8_t mac[6];

	conf->gateway_auto = strcmp(text, "auto") == 0;
	if (conf->gateway_auto)
		return NULL;
	if (!conf_parse_mac(text, mac))
		return "is neither \"auto\" nor a MAC like 02:00:5e:10:00:01";
	return conf_parse_unicast_mac(text, conf->gateway_mac);
}

static const char *parse_source(const char *text, enum netaddr_family family, void *field)
{
	struct netaddr addr;

	if (!netaddr_parse(text, &addr) || addr.family != family)
		return family == NETADDR_V4 ? "is not an IPv4 address" : "is not an IPv6 address";
	if (!netaddr_is_unicast(&addr))
		return "is not a unicast address that other hosts can reply to";
	if (netaddr_is_link_local(&addr))
		return "is a link-local address, to which only hosts of the same link can reply";
	if (netaddr_is_mapped(&addr))
		return "is an IPv4-mapped address, which no IPv6 packet can have: set outbound_src_ip instead";
	memcpy(field, addr.bytes, netaddr_size(&addr));
	return NULL;
}

static const char *parse_source_ip(const char *text, void *field)
{
	return parse_source(text, NETADDR_V4, field);
}

static const char *parse_source_ip6(const char *text, void *field)
{
	return parse_source(text, NETADDR_V6, field);
}

/* Returns whether the kernel could have an interface with this name. */
static bool is_interface(const char *text)
{
	if (!*text || strlen(text) >= CONF_INTERFACE_SIZE || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return false;
	for (; *text; text++)
		if (*text == '/' || *text == ':' || !isgraph((unsigned char)*text))
			return false;
	return true;
}

_Static_assert(CONF_INTERFACE_SIZE == 16 && STATSD_PREFIX_SIZE == 64, "errors have the numbers");

static const char *parse_interface(const char *text, void *field)
{
	if (!is_interface(text))
		return "is not the name of an interface, like \"eth1\" (1 to 15 characters)";
	strcpy(field, text);
	return NULL;
}

static const char *parse_path(const char *text, void *field)
{
	if (text[0] != '/' || strlen(text) >= CONF_PATH_SIZE)
		return "is not a full path, which begins with '/' and has at most 255 characters";
	strcpy(field, text);
	return NULL;
}

static void read_port_interfaces(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct conf_key name = {.parse = parse_interface};
	struct conf *conf = field;

	conf->port_interface_count = (uint16_t)conf_list_length(reader, at, key);
	for (unsigned i = 0; i < conf->port_interface_count; i++)
		conf_read_text(reader, config_setting_get_elem(at, i), &name, conf->port_interfaces[i]);
}

static const char *parse_metrics(const char *text, void *field)
{
	struct endpoint *metrics = field;
	const uint8_t *bytes = metrics->addr.bytes;

	if (!conf_parse_listen(text, metrics))
		return "is neither \"none\" nor an address with a port, like \"127.0.0.1:19520\" or \"[::1]:19520\"";
	if (metrics->addr.family == NETADDR_V4 ? bytes[0] >= 224 : bytes[0] == 0xff)
		return "is a multicast or reserved address, on which nobody can listen";
	return NULL;
}

static const char *parse_host(const char *text, void *field)
{
	if (!*text || strlen(text) >= STATSD_HOST_SIZE || text[strspn(text, LETTERS "-.:")]) /* : in IPv6 addresses */
		return "is not the name or address of a host";
	strcpy(field, text);
	return NULL;
}

static const char *parse_prefix(const char *text, void *field)
{
	if (!*text || strlen(text) >= STATSD_PREFIX_SIZE || text[strspn(text, LETTERS "_-.")])
		return "is not a prefix: 1 to 63 letters, digits, dots, _ and -";
	strcpy(field, text);
	return NULL;
}

#define AT(member) .offset = offsetof(struct statsd_config, member)

static const struct conf_key statsd_keys[] = {
	{"host", conf_read_text, AT(host), "\"127.0.0.1\"", .parse = parse_host},
	{"port", conf_read_uint16, AT(port), "8125", 1, UINT16_MAX},
	{"prefix", conf_read_text, AT(prefix), "\"glb_director\"", .parse = parse_prefix},
	{"tags", conf_read_bool, AT(tags), "false"},
	{0},
};

static void read_statsd(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct statsd_config *statsd = field;

	conf_read_group(reader, at, key->keys, statsd);
	statsd->enabled = true;
}

static const struct conf_key field_keys[] = {
#define X(symbol, name) {name, conf_read_bool, .offset = STEERING_BIT_##symbol, "false"},
	STEERING_FIELDS(X)
#undef X
		{0},
};

#define FIELDS_TEXT_MAX 96

/* Lists the names of the fields for people. Returns buf. */
static const char *fields_text(char buf[FIELDS_TEXT_MAX])
{
	size_t used = 0;

	for (unsigned i = 0; i < STEERING_FIELD_COUNT; i++)
		used += (size_t)snprintf(buf + used, FIELDS_TEXT_MAX - used, "%s%s",
			i == 0                         ? ""
			: i + 1 < STEERING_FIELD_COUNT ? ", "
						       : " and ",
			steering_field_names[i]);
	return buf;
}

static void read_fields(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	bool fields[STEERING_FIELD_COUNT] = {0};
	char text[FIELDS_TEXT_MAX];
	size_t errors = reader->faults->errors;
	uint8_t mask = 0;

	conf_read_group(reader, at, key->keys, fields);
	for (unsigned i = 0; i < STEERING_FIELD_COUNT; i++)
		mask |= (uint8_t)(fields[i] << i);
	if (mask)
		*(uint8_t *)field = mask;
	else if (reader->faults->errors == errors)
		conf_error(reader, at, NULL, "no field is true; set at least one of %s", fields_text(text));
}

static const struct conf_key limit_keys[] = {
	{"control", conf_read_unsigned, .offset = offsetof(struct conf_exception_limits, control), "10000", 0,
		CONF_MAX_EXCEPTIONS},
	{"other", conf_read_unsigned, .offset = offsetof(struct conf_exception_limits, other), "1000", 0,
		CONF_MAX_EXCEPTIONS},
	{0},
};

static const char *const exception_paths[] = {"none", "tap", "virtio-user", NULL};
static const char *const rss_fields[] = {"addresses", "addresses_and_ports", NULL};
static const char *const idles[] = {"poll", "sleep", NULL};
static const char *const isas[] = {"auto", "scalar", "avx2", "avx512", NULL};

#undef AT
#define AT(member) .offset = offsetof(struct conf, member)

const struct conf_key conf_keys[] = {
	{"outbound_gateway_mac", conf_read_text, .parse = parse_gateway, .required = "\"auto\" or the next hop's MAC"},
	{"outbound_src_ip", conf_read_text, AT(outbound_src_ip), .parse = parse_source_ip},
	{"outbound_src_ip6", conf_read_text, AT(outbound_src_ip6), .parse = parse_source_ip6},
	{"outbound_vrf", conf_read_text, AT(outbound_vrf), .parse = parse_interface},
	{"port_interfaces", read_port_interfaces, .min = 1, .max = CONF_MAX_PORTS, .items = "interfaces",
		.expected = "is not a list of interfaces, like [\"eth1\", \"eth2\"]"},
	{"hash_fields", read_fields, AT(steering.hash_fields), "{ src_addr = true; }", .keys = field_keys},
	{"alt_hash_fields", read_fields, AT(steering.alt_hash_fields), .keys = field_keys},
	{"forward_icmp_ping_responses", conf_read_bool, AT(steering.forward_ping), "true"},
	{"outbound_mtu", conf_read_uint16, AT(steering.outbound_mtu), "1500", 576, 9216},
	{"outbound_udp_checksum", conf_read_bool, AT(steering.udp_checksum), "false"},
	{"send_icmp_too_big", conf_read_bool, AT(steering.send_too_big), "false"},
	{"send_icmp_too_big_without_df", conf_read_bool, AT(steering.reply_without_df), "false"},
	{"accept_macs", conf_read_accept_macs, AT(steering.admission), .min = 1, .max = ADMISSION_MAX_MACS,
		.items = "MACs", .expected = "is neither \"any\" nor a list like [\"02:00:5e:10:00:01\"]"},
	{"accept_vlans", conf_read_accept_vlans, AT(steering.admission), "\"untagged\"", 1, ADMISSION_VLANS,
		.expected =
			"is not \"untagged\", \"any\" or a list of VLAN ids like [100, 101], in which 0 stands for untagged frames"},
	{"outbound_vlan", conf_read_outbound_vlan, AT(steering.admission.outbound_vlan), "\"untagged\"", 1, CONF_MAX_VLAN},
	{"drop_martians", conf_read_bool, AT(steering.admission.drop_martians), "true"},
	{"exception_path", conf_read_choice, AT(exception_path), "\"none\"", .choices = exception_paths},
	{"exception_limits", conf_read_members, AT(exception_limits), "{}", .keys = limit_keys},
	{"idle", conf_read_choice, AT(idle), "\"poll\"", .choices = idles},
	{"isa", conf_read_choice, AT(isa), "\"auto\"", .choices = isas},
	{"metrics", conf_read_text, AT(metrics), "\"127.0.0.1:19520\"", .parse = parse_metrics},
	{"fleet_status", conf_read_text, AT(fleet_status), "\"/run/glb-fleet/status.json\"", .parse = parse_path},
	{"statsd", read_statsd, AT(statsd), .keys = statsd_keys},
	{"max_shrink", conf_read_uint16, AT(max_shrink), TEXT_OF(TABLE_GUARD_MAX_SHRINK), 0, TABLE_GUARD_OFF},
	{"stop_delay_ms", conf_read_uint16, AT(stop_delay_ms), "0", 0, 60000},
	{"rx_drop_en", conf_read_bool, AT(rx_drop_en), "true"},
	{"rx_descriptors", conf_read_uint16, AT(rx_descriptors), "1024", 64, CONF_MAX_DESCRIPTORS},
	{"tx_descriptors", conf_read_uint16, AT(tx_descriptors), "1024", 64, CONF_MAX_DESCRIPTORS},
	{"mbufs", conf_read_unsigned, AT(mbufs), "0", 0, 1 << 24},
	{"rss_fields", conf_read_choice, AT(rss_fields), "\"addresses_and_ports\"", .choices = rss_fields},
	{"num_worker_queues", conf_read_uint16, AT(num_worker_queues), "0", 0, 1024},
	{"flow_paths", conf_read_flow_paths, .min = 1, .max = CONF_MAX_FLOW_PATHS, .keys = conf_flow_path_keys,
		.expected = "is not a list ( { rx_port = 0; ... }, ... ) of paths", .items = "flow paths"},
	{"lcores", conf_read_lcores, .keys = conf_lcore_keys},
	{0},
};

/* These keys have no effect beside a fixed MAC. */
static void warn_about_interfaces(struct conf_reader *reader, const config_setting_t *root)
{
	static const char *const names[] = {"outbound_vrf", "port_interfaces"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const config_setting_t *at = config_setting_get_member(root, names[i]);

		if (at)
			conf_warn(reader, at, NULL, "has no effect, because outbound_gateway_mac is not \"auto\"");
	}
}

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct conf *conf = reader->conf;
	size_t errors = reader->faults->errors;

	conf_read_group(reader, root, conf_keys, conf);
	if (!config_setting_get_member(root, "outbound_src_ip") && !config_setting_get_member(root, "outbound_src_ip6"))
		conf_error(reader, root, "outbound_src_ip",
			"missing; write the director's own IPv4 address, or its IPv6 address as outbound_src_ip6");
	conf->steering.exception_path = conf->exception_path != CONF_EXCEPTION_NONE;
	if (reader->faults->errors != errors)
		return; /* the checks below would report consequences of these errors */
	conf_check_lcores(reader, root);
	if (!conf->gateway_auto)
		warn_about_interfaces(reader, root);
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

	*conf = (struct conf){.steering.admission.accept = ADMISSION_LISTED};
	return conf_read_file(path, &reader, read_root);
}

struct netaddr conf_outbound_source(const struct conf *conf, enum netaddr_family family)
{
	struct netaddr source = family == NETADDR_V4 ? netaddr_from_bytes(family, &conf->outbound_src_ip)
						     : netaddr_from_bytes(family, conf->outbound_src_ip6);

	return netaddr_is_unicast(&source) ? source : (struct netaddr){0};
}
