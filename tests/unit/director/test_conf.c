/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "director/conf/conf.h"

/* What follows a word that is no value, up to what to write instead. */
#define NO_VALUE   " is not a number, true, false, or text in double quotes; write "
#define DEEP4      "a = { a = { a = { a = { "
#define CLOSE4     "}; }; }; };"
#define DEEP       DEEP4 DEEP4 DEEP4 DEEP4 DEEP4
#define CLOSE_DEEP CLOSE4 CLOSE4 CLOSE4 CLOSE4 CLOSE4
#define METRICS(value)            \
	"conf:2: metrics: " value \
	" is neither \"none\" nor an address with a port, like \"127.0.0.1:19520\" or \"[::1]:19520\""
#define IP6(text) "outbound_gateway_mac = \"auto\";\noutbound_src_ip6 = " text ";\n"
#define BASE      "outbound_gateway_mac = \"02:00:5e:10:00:01\"; outbound_src_ip = \"192.0.2.1\";\n"

/* libconfig 1.5 leaks the last string of a file with a syntax error. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:strbuf_append";
}

static char path[] = "/tmp/test_conf.XXXXXX";

static int create_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static int read_conf(const char *text, struct conf *conf, struct faults *faults)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	*faults = (struct faults){.file = "conf"};
	return conf_read(path, conf, faults);
}

static void read_good(const char *text, struct conf *conf)
{
	struct faults faults;

	if (read_conf(text, conf, &faults) < 0)
		fail_msg("%s", faults_first_error(&faults));
	assert_int_equal(faults.count, 0);
}

/* Tagged frames are worth a warning, because they take the general path. */
static void read_good_with_tags(const char *text, struct conf *conf)
{
	struct faults faults;

	assert_int_equal(read_conf(text, conf, &faults), 0);
	assert_int_equal(faults.count, 1);
	assert_int_equal(faults.errors, 0);
	assert_string_equal(faults.items[0].text,
		"conf:2: accept_vlans: admits tagged frames, which take the slower general path; where you can, let the card or the kernel remove the tags (a port VLAN of the VF, or an interface like eth1.100)");
	faults_clear(&faults);
}

static void test_two_keys_are_enough(void **state)
{
	static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x10, 0x00, 0x01}, ip[4] = {192, 0, 2, 1};
	char address[ENDPOINT_TEXT_MAX];
	struct conf conf;

	(void)state;
	read_good(BASE, &conf);
	assert_false(conf.gateway_auto);
	assert_memory_equal(conf.gateway_mac, mac, 6);
	assert_memory_equal(&conf.outbound_src_ip, ip, 4);
	assert_int_equal(conf.steering.hash_fields, STEERING_SOURCE_ADDRESS);
	assert_int_equal(conf.steering.alt_hash_fields, 0);
	assert_true(conf.steering.forward_ping);
	assert_false(conf.steering.exception_path);
	assert_false(conf.steering.send_too_big);
	assert_false(conf.steering.reply_without_df);
	assert_int_equal(conf.steering.outbound_mtu, 1500);
	assert_int_equal(conf.exception_path, CONF_EXCEPTION_NONE);
	assert_int_equal(conf.exception_limits.control, 10000);
	assert_int_equal(conf.exception_limits.other, 1000);
	assert_string_equal(endpoint_format(&conf.metrics, address), "127.0.0.1:19520");
	assert_false(conf.statsd.enabled);
	assert_int_equal(conf.idle, CONF_IDLE_POLL);
	assert_int_equal(conf.isa, CONF_ISA_AUTO);
	assert_true(conf.rx_drop_en);
	assert_int_equal(conf.max_shrink, 50);
	assert_int_equal(conf.stop_delay_ms, 0);
	assert_int_equal(conf.rx_descriptors, 1024);
	assert_int_equal(conf.tx_descriptors, 1024);
	assert_int_equal(conf.mbufs, 0);
	assert_int_equal(conf.rss_fields, CONF_RSS_ADDRESSES_AND_PORTS);
	assert_int_equal(conf.num_worker_queues, 0);
	assert_int_equal(conf.flow_path_count, 0);
	assert_int_equal(conf.lcore_count, 0);
}

static void test_a_source_address_of_one_family_is_enough(void **state)
{
	struct conf conf;
	struct netaddr source;
	char text[NETADDR_TEXT_MAX];

	(void)state;
	read_good(BASE, &conf);
	source = conf_outbound_source(&conf, NETADDR_V4);
	assert_string_equal(netaddr_format(&source, text), "192.0.2.1");
	assert_int_equal(conf_outbound_source(&conf, NETADDR_V6).family, NETADDR_NONE);
	read_good(IP6("\"2001:DB8::a\""), &conf);
	source = conf_outbound_source(&conf, NETADDR_V6);
	assert_string_equal(netaddr_format(&source, text), "2001:db8::a");
	assert_int_equal(conf_outbound_source(&conf, NETADDR_V4).family, NETADDR_NONE);
}

static void test_every_key_is_read(void **state)
{
	char address[ENDPOINT_TEXT_MAX];
	struct conf conf, none;

	(void)state;
	read_good("outbound_gateway_mac = \"auto\"; outbound_src_ip = \"10.0.0.9\";\n"
		  "outbound_vrf = \"blue\"; port_interfaces = [\"eth1\", \"a.longest.name0\"];\n"
		  "hash_fields = { src_addr = true; src_port = true; dst_port = false; };\n"
		  "alt_hash_fields : { dst_addr = true; dst_port = true };\n"
		  "forward_icmp_ping_responses = false; outbound_mtu = 9216; send_icmp_too_big_without_df = true; send_icmp_too_big = "
		  "true;\n"
		  "outbound_udp_checksum = true;\n"
		  "exception_limits = { control = 10000000; other = 0; };\n"
		  "exception_path = \"virtio-user\"; idle = \"sleep\"; isa = \"scalar\"; metrics = \"[::]:80\"; statsd = { host = \"stats.example\"; port = 28125; prefix = \"a.b-c_d\"; tags = true; }; rx_drop_en = false; max_shrink = 0; stop_delay_ms = 60000;\n"
		  "rx_descriptors = 64; tx_descriptors = 32768; mbufs = 16777216; rss_fields = \"addresses\";\n"
		  "num_worker_queues = 4L; # a comment\n"
		  "flow_paths = ( { rx_port = 0; rx_queue = 1; tx_port = 1; tx_queue = 2; },\n"
		  "               { rx_port = 1; rx_queue = 0x1; tx_port = 0; tx_queue = 2; } );\n"
		  "lcores = { lcore-1 = { rx = true; tx = true; flow_paths = [1]; },\n"
		  "  lcore-2 = { rx = true; tx = true; flow_paths = (0); dist = true;"
		  " num_dist_workers = 1; }, lcore-7 = { work = true; work_source = 2; } };\n",
		&conf);
	assert_true(conf.gateway_auto);
	assert_string_equal(conf.outbound_vrf, "blue");
	assert_int_equal(conf.port_interface_count, 2);
	assert_string_equal(conf.port_interfaces[0], "eth1");
	assert_string_equal(conf.port_interfaces[1], "a.longest.name0");
	assert_int_equal(conf.steering.hash_fields, STEERING_SOURCE_ADDRESS | STEERING_SOURCE_PORT);
	assert_int_equal(conf.steering.alt_hash_fields, STEERING_DESTINATION_ADDRESS | STEERING_DESTINATION_PORT);
	assert_false(conf.steering.forward_ping);
	assert_true(conf.steering.exception_path);
	assert_true(conf.steering.send_too_big);
	assert_true(conf.steering.reply_without_df);
	assert_true(conf.steering.udp_checksum);
	assert_int_equal(conf.steering.outbound_mtu, 9216);
	assert_int_equal(conf.exception_path, CONF_EXCEPTION_VIRTIO_USER);
	assert_int_equal(conf.exception_limits.control, 10000000);
	assert_int_equal(conf.exception_limits.other, 0);
	assert_int_equal(conf.idle, CONF_IDLE_SLEEP);
	assert_int_equal(conf.isa, CONF_ISA_SCALAR);
	assert_string_equal(endpoint_format(&conf.metrics, address), "[::]:80");
	assert_string_equal(conf.statsd.host, "stats.example");
	assert_int_equal(conf.statsd.port, 28125);
	assert_string_equal(conf.statsd.prefix, "a.b-c_d");
	assert_true(conf.statsd.tags);
	read_good(BASE "metrics = \"none\"; statsd = { };", &none);
	assert_false(none.metrics.has_port);
	assert_true(none.statsd.enabled);
	assert_string_equal(none.statsd.host, "127.0.0.1");
	assert_int_equal(none.statsd.port, 8125);
	assert_string_equal(none.statsd.prefix, "glb_director");
	assert_false(none.statsd.tags);
	assert_false(conf.rx_drop_en);
	assert_int_equal(conf.max_shrink, 0);
	assert_int_equal(conf.stop_delay_ms, 60000);
	assert_int_equal(conf.rx_descriptors, 64);
	assert_int_equal(conf.tx_descriptors, 32768);
	assert_int_equal(conf.mbufs, 16777216);
	assert_int_equal(conf.rss_fields, CONF_RSS_ADDRESSES);
	assert_int_equal(conf.num_worker_queues, 4);
	assert_int_equal(conf.flow_path_count, 2);
	assert_int_equal(conf.flow_paths[0].rx_port, 0);
	assert_int_equal(conf.flow_paths[0].rx_queue, 1);
	assert_int_equal(conf.flow_paths[0].tx_port, 1);
	assert_int_equal(conf.flow_paths[0].tx_queue, 2);
	assert_int_equal(conf.flow_paths[1].rx_queue, 1);
	assert_int_equal(conf.lcore_count, 3);
	assert_int_equal(conf.lcores[0].id, 1);
	assert_true(conf.lcores[0].rx && conf.lcores[0].tx);
	assert_int_equal(conf.lcores[0].flow_path_count, 1);
	assert_int_equal(conf.lcores[0].flow_paths[0], 1);
	assert_true(conf.lcores[1].dist);
	assert_int_equal(conf.lcores[1].num_dist_workers, 1);
	assert_int_equal(conf.lcores[1].flow_paths[0], 0);
	assert_int_equal(conf.lcores[2].id, 7);
	assert_true(conf.lcores[2].work);
	assert_int_equal(conf.lcores[2].work_source, 2);
}

#define MAC(text)    "outbound_gateway_mac = " text ";\noutbound_src_ip = \"192.0.2.1\";\n"
#define AUTO         "outbound_gateway_mac = \"auto\"; outbound_src_ip = \"192.0.2.1\";\n"
#define NO_INTERFACE "' is not the name of an interface, like \"eth1\" (1 to 15 characters)"
#define NOT_SOURCE   "' is not a unicast address that other hosts can reply to"
#define NO_SOURCE \
	"conf: outbound_src_ip: missing; write the director's own IPv4 address, or its IPv6 address as outbound_src_ip6"
#define IP(text)     "outbound_gateway_mac = \"auto\";\noutbound_src_ip = " text ";\n"
#define NOT_MAC      " is neither \"auto\" nor a MAC like 02:00:5e:10:00:01"
#define PATHS        "flow_paths = ( { rx_port = 0; rx_queue = 0; tx_port = 0; tx_queue = 0; } );\n"
#define RTC          "rx = true; tx = true; flow_paths = [0];"
#define LCORES(text) BASE PATHS "lcores = {\n" text "\n};\n"

/* A faulty text, and all errors that it causes, in order. */
static const struct {
	const char *text;
	const char *errors[4];
} bad[] = {
	{"", {"conf: outbound_gateway_mac: missing; write \"auto\" or the next hop's MAC", NO_SOURCE}},
	{"outbound_gateway_mac = \"auto\";\n", {NO_SOURCE}},
	{MAC("\"02:00:5e:10:00\""), {"conf:1: outbound_gateway_mac: '02:00:5e:10:00'" NOT_MAC}},
	{MAC("\"02-00-5e-10-00-01\""), {"conf:1: outbound_gateway_mac: '02-00-5e-10-00-01'" NOT_MAC}},
	{MAC("\"02:00:5e:10:00:0g\""), {"conf:1: outbound_gateway_mac: '02:00:5e:10:00:0g'" NOT_MAC}},
	{MAC("\"02:00:5e:10:00:01:\""), {"conf:1: outbound_gateway_mac: '02:00:5e:10:00:01:'" NOT_MAC}},
	{MAC("12"), {"conf:1: outbound_gateway_mac: '12' (a number)" NOT_MAC}},
	{MAC("\"01:00:5e:10:00:01\""), {"conf:1: outbound_gateway_mac: '01:00:5e:10:00:01' is not a unicast MAC"}},
	{MAC("\"00:00:00:00:00:00\""), {"conf:1: outbound_gateway_mac: '00:00:00:00:00:00' is not a unicast MAC"}},

	{AUTO "outbound_vrf = \"\";\n", {"conf:2: outbound_vrf: '" NO_INTERFACE}},
	{AUTO "outbound_vrf = \"a.longer.name.00\";\n", {"conf:2: outbound_vrf: 'a.longer.name.00" NO_INTERFACE}},
	{AUTO "outbound_vrf = \"a/b\";\n", {"conf:2: outbound_vrf: 'a/b" NO_INTERFACE}},
	{AUTO "outbound_vrf = \"..\";\n", {"conf:2: outbound_vrf: '.." NO_INTERFACE}},
	{AUTO "port_interfaces = [\"eth1\", \"eth 2\"];\n", {"conf:2: port_interfaces[1]: 'eth 2" NO_INTERFACE}},
	{AUTO "port_interfaces = \"eth1\";\n",
		{"conf:2: port_interfaces: 'eth1' (in quotes) is not a list of interfaces, like [\"eth1\", \"eth2\"]"}},
	{AUTO "port_interfaces = [];\n",
		{"conf:2: port_interfaces: '[]' is not a list of interfaces, like [\"eth1\", \"eth2\"]"}},
	{IP("\"192.0.2\""), {"conf:2: outbound_src_ip: '192.0.2' is not an IPv4 address"}},
	{IP("\"::1\""), {"conf:2: outbound_src_ip: '::1' is not an IPv4 address"}},
	{IP("true"), {"conf:2: outbound_src_ip: 'true' is not an IPv4 address"}},
	{IP("\"224.0.0.1\""),
		{"conf:2: outbound_src_ip: '224.0.0.1' is not a unicast address that other hosts can reply to"}},
	{IP("\"0.0.0.0\""), {"conf:2: outbound_src_ip: '0.0.0.0' is not a unicast address that other hosts can reply to"}},
	{IP6("\"192.0.2.1\""), {"conf:2: outbound_src_ip6: '192.0.2.1' is not an IPv6 address"}},
	{IP6("\"fe80::1%eth0\""), {"conf:2: outbound_src_ip6: 'fe80::1%eth0' is not an IPv6 address"}},
	{IP6("1"), {"conf:2: outbound_src_ip6: '1' (a number) is not an IPv6 address"}},
	{IP6("\"::\""), {"conf:2: outbound_src_ip6: '::" NOT_SOURCE}},
	{IP6("\"::1\""), {"conf:2: outbound_src_ip6: '::1" NOT_SOURCE}},
	{IP6("\"ff02::1\""), {"conf:2: outbound_src_ip6: 'ff02::1" NOT_SOURCE}},
	{IP6("\"febf::1\""),
		{"conf:2: outbound_src_ip6: 'febf::1' is a link-local address, to which only hosts of the same link can reply"}},
	{IP6("\"::ffff:192.0.2.1\""),
		{"conf:2: outbound_src_ip6: '::ffff:192.0.2.1' is an IPv4-mapped address, which no IPv6 packet can have: set outbound_src_ip instead"}},
	{BASE "outbound_mtu = 575;", {"conf:2: outbound_mtu: '575' is not an integer from 576 to 9216"}},
	{BASE "outbound_mtu = 9217;", {"conf:2: outbound_mtu: '9217' is not an integer from 576 to 9216"}},
	{BASE "outbound_mtu = 1500.0;", {"conf:2: outbound_mtu: '1500' (a real number) is not an "
					 "integer from 576 to 9216"}},
	{BASE "outbound_mtu = \"1500\";", {"conf:2: outbound_mtu: '1500' (in quotes) is not an "
					   "integer from 576 to 9216"}},
	{BASE "outbound_mtu = 4294968796L;", {"conf:2: outbound_mtu: '4294968796' is not an integer from 576 to 9216"}},
	{BASE "outbound_mtu = { };", {"conf:2: outbound_mtu: '{}' is not an integer from 576 to 9216"}},
	{BASE "outbound_mtu = { a = 1; };", {"conf:2: outbound_mtu: a group { ... } is not an integer from 576 to 9216"}},
	{BASE "num_worker_queues = 4294967297;", {"conf:2: '4294967297' does not fit an integer"}},
	{BASE "num_worker_queues = -1;", {"conf:2: num_worker_queues: '-1' is not an integer from 0 to 1024"}},
	{BASE "num_worker_queues = \"4\";", {"conf:2: num_worker_queues: '4' (in quotes) is not an "
					     "integer from 0 to 1024"}},
	{BASE "rx_descriptors = 63;", {"conf:2: rx_descriptors: '63' is not an integer from 64 to 32768"}},
	{BASE "rx_descriptors = 0;", {"conf:2: rx_descriptors: '0' is not an integer from 64 to 32768"}},
	{BASE "tx_descriptors = 32769;", {"conf:2: tx_descriptors: '32769' is not an integer from 64 to 32768"}},
	{BASE "mbufs = -1;", {"conf:2: mbufs: '-1' is not an integer from 0 to 16777216"}},
	{BASE "mbufs = 16777217;", {"conf:2: mbufs: '16777217' is not an integer from 0 to 16777216"}},
	{BASE "mbufs = 4294967296;", {"conf:2: '4294967296' does not fit an integer"}},
	{BASE "rss_fields = \"ports\";", {"conf:2: rss_fields: 'ports' is not \"addresses\" or \"addresses_and_ports\""}},
	{BASE "metrics = \"\";", {METRICS("''")}},
	{BASE "metrics = \"19520\";", {METRICS("'19520'")}},
	{BASE "metrics = 19520;", {METRICS("'19520' (a number)")}},
	{BASE "metrics = \"127.0.0.1\";", {METRICS("'127.0.0.1'")}},
	{BASE "metrics = \"127.0.0.1:0\";", {METRICS("'127.0.0.1:0'")}},
	{BASE "metrics = \"127.0.0.1:65536\";", {METRICS("'127.0.0.1:65536'")}},
	{BASE "metrics = \"::1:19520\";", {METRICS("'::1:19520'")}},
	{BASE "metrics = \"localhost:19520\";", {METRICS("'localhost:19520'")}},
	{BASE "metrics = \"http://127.0.0.1:19520/\";", {METRICS("'http://127.0.0.1:19520/'")}},
	{BASE "metrics = \"239.0.0.1:19520\";",
		{"conf:2: metrics: '239.0.0.1:19520' is a multicast or reserved address, on which nobody can listen"}},
	{BASE "metrics = \"[ff02::1]:19520\";",
		{"conf:2: metrics: '[ff02::1]:19520' is a multicast or reserved address, on which nobody can listen"}},
	{BASE "statsd = { host = \"\"; };", {"conf:2: statsd.host: '' is not the name or address of a host"}},
	{BASE "statsd = { host = \"a b\"; };", {"conf:2: statsd.host: 'a b' is not the name or address of a host"}},
	{BASE "statsd = { host = 1; };", {"conf:2: statsd.host: '1' (a number) is not the name or address of a host"}},
	{BASE "statsd = { port = 0; };", {"conf:2: statsd.port: '0' is not an integer from 1 to 65535"}},
	{BASE "statsd = { port = \"8125\"; };",
		{"conf:2: statsd.port: '8125' (in quotes) is not an integer from 1 to 65535"}},
	{BASE "statsd = { prefix = \"a|b\"; };",
		{"conf:2: statsd.prefix: 'a|b' is not a prefix: 1 to 63 letters, digits, dots, _ and -"}},
	{BASE "statsd = { tag = true; };", {"conf:2: statsd.tag: unknown key; did you mean tags?"}},
	{BASE "statsd = \"127.0.0.1\";", {"conf:2: statsd: '127.0.0.1' (in quotes) is not a group { key = value; ... }"}},
	{BASE "max_shrink = 101;", {"conf:2: max_shrink: '101' is not an integer from 0 to 100"}},
	{BASE "max_shrink = -1;", {"conf:2: max_shrink: '-1' is not an integer from 0 to 100"}},
	{BASE "max_shrink = 0.5;", {"conf:2: max_shrink: '0.5' (a real number) is not an integer from 0 to 100"}},
	{BASE "stop_delay_ms = 60001;", {"conf:2: stop_delay_ms: '60001' is not an integer from 0 to 60000"}},
	{BASE "rx_drop_en = 1;", {"conf:2: rx_drop_en: '1' (a number) is neither true nor false"}},
	{BASE "rx_drop_en = \"true\";", {"conf:2: rx_drop_en: 'true' (in quotes) is neither true nor false"}},
	{BASE "idle = \"never\";", {"conf:2: idle: 'never' is not \"poll\" or \"sleep\""}},
	{BASE "exception_path = true;", {"conf:2: exception_path: 'true' is not \"none\" or \"tap\" or \"virtio-user\""}},
	{BASE "exception_path = \"kni\";",
		{"conf:2: exception_path: 'kni' was removed from DPDK; use \"tap\" or \"virtio-user\""}},
	{BASE "statsd_port = \"28125\";", {"conf:2: statsd_port: is written as a group now: statsd = { port = 28125; }"}},
	{BASE "kni_ip = \"192.0.2.9\";",
		{"conf:2: kni_ip: KNI was removed from DPDK; remove this key, and give the address to the interface of exception_path"}},
	{BASE "isa = \"avx\";", {"conf:2: isa: 'avx' is not \"auto\" or \"scalar\" or \"avx2\" or \"avx512\""}},
	{BASE "isa = 512;", {"conf:2: isa: '512' (a number) is not \"auto\" or \"scalar\" or \"avx2\" or \"avx512\""}},
	{BASE "idle = \"statsd_port\";", {"conf:2: idle: 'statsd_port' is not \"poll\" or \"sleep\""}},
	{BASE "kni = true;", {"conf:2: kni: KNI was removed from DPDK; remove this key and set exception_path = \"tap\""}},
	{BASE "\nhash_fields = { src_addr = true; proto = true; };",
		{"conf:3: hash_fields.proto: unknown key; expected one of src_addr, dst_addr, "
		 "src_port, dst_port"}},
	{BASE "hash_fields = { src_addr = 1; dst_addr = \"x\\n\"; };",
		{"conf:2: hash_fields.src_addr: '1' (a number) is neither true nor false",
			"conf:2: hash_fields.dst_addr: 'x?' (in quotes) is neither true nor false"}},
	{BASE "hash_fields = { };",
		{"conf:2: hash_fields: no field is true; set at least one of src_addr, dst_addr, src_port and dst_port"}},
	{BASE "alt_hash_fields = { src_port = false; };",
		{"conf:2: alt_hash_fields: no field is true; set at least one of src_addr, dst_addr, src_port and dst_port"}},
	{BASE "accept_macs = \"02:00:5e:10:00:09\";",
		{"conf:2: accept_macs: '02:00:5e:10:00:09' (in quotes) is neither \"any\" nor a list like [\"02:00:5e:10:00:01\"]"}},
	{BASE "accept_macs = [];",
		{"conf:2: accept_macs: '[]' is neither \"any\" nor a list like [\"02:00:5e:10:00:01\"]"}},
	{BASE "accept_macs = [\"00:00:5e:00:01:0a\", \"00:00:5e:00:01:0A\"];",
		{"conf:2: accept_macs[1]: '00:00:5e:00:01:0A' is already in the list; remove one of them"}},
	{BASE "accept_macs = [\"ff:ff:ff:ff:ff:ff\", \"00:00:00:00:00:00\", \"33:33:00:00:00:01\", \"02-00-00-00-00-09\"];",
		{"conf:2: accept_macs[0]: 'ff:ff:ff:ff:ff:ff' is not a unicast MAC; remove it",
			"conf:2: accept_macs[1]: '00:00:00:00:00:00' is not a unicast MAC; remove it",
			"conf:2: accept_macs[2]: '33:33:00:00:00:01' is not a unicast MAC; remove it",
			"conf:2: accept_macs[3]: '02-00-00-00-00-09' is not a MAC like 02:00:5e:10:00:01"}},
	{BASE "accept_macs = [\"02:00:5e:10:00:01\"];",
		{"conf:2: accept_macs: has the MAC of outbound_gateway_mac, which is that of another host; remove it"}},
	{BASE "accept_macs = [\"2:\", \"2:\", \"2:\", \"2:\", \"2:\", \"2:\", \"2:\", \"2:\", \"2:\"];",
		{"conf:2: accept_macs: has 9 MACs; at most 8"}},
	{BASE "accept_vlans = \"tagged\";",
		{"conf:2: accept_vlans: 'tagged' (in quotes) is not \"untagged\", \"any\" or a list of VLAN ids like [100, 101], in which 0 stands for untagged frames"}},
	{BASE "accept_vlans = 100;",
		{"conf:2: accept_vlans: '100' (a number) is not \"untagged\", \"any\" or a list of VLAN ids like [100, 101], in which 0 stands for untagged frames"}},
	{BASE "accept_vlans = [100, 4095, 100]; outbound_vlan = 100;",
		{"conf:2: accept_vlans[1]: '4095' is not an integer from 0 to 4094",
			"conf:2: accept_vlans[2]: 100 is already in the list; remove one of them"}},
	{BASE "accept_vlans = [0, 100];",
		{"conf:2: accept_vlans: admits tagged frames, so outbound_vlan must say how GUE packets are sent: set it to the VLAN of the next hops, or to \"untagged\""}},
	{BASE "accept_vlans = \"any\";",
		{"conf:2: accept_vlans: admits tagged frames, so outbound_vlan must say how GUE packets are sent: set it to the VLAN of the next hops, or to \"untagged\""}},
	{BASE "outbound_vlan = 0;", {"conf:2: outbound_vlan: '0' is not an integer from 1 to 4094"}},
	{BASE "outbound_vlan = 4095;", {"conf:2: outbound_vlan: '4095' is not an integer from 1 to 4094"}},
	{BASE "outbound_vlan = \"100\";",
		{"conf:2: outbound_vlan: '100' is neither \"untagged\" nor a number from 1 to 4094 without quotes"}},
	{BASE "drop_martians = 1;", {"conf:2: drop_martians: '1' (a number) is neither true nor false"}},
	{BASE "hash_fields = \"src_addr\";",
		{"conf:2: hash_fields: 'src_addr' (in quotes) is not a group { key = value; ... }"}},
	{BASE "exception_limits = {\ncontrol = -1; other = 10000001; };",
		{"conf:3: exception_limits.control: '-1' is not an integer from 0 to 10000000",
			"conf:3: exception_limits.other: '10000001' is not an integer from 0 to 10000000"}},
	{BASE "exception_limits = { control = \"10\"; contol = 5; };",
		{"conf:2: exception_limits.control: '10' (in quotes) is not an integer from 0 to 10000000",
			"conf:2: exception_limits.contol: unknown key; did you mean control?"}},
	{BASE "exception_limits = 1000;",
		{"conf:2: exception_limits: '1000' (a number) is not a group { key = value; ... }"}},
	{BASE "idle = \"poll\";\nidle = \"sleep\";", {"conf:3: idle: given twice, first in line 2; remove one"}},
	{BASE "lcores = {\nlcore-1 = { rx = true; };\nlcore-2 = { rx = true; rx = false; };\n};",
		{"conf:4: lcores.lcore-2.rx: given twice, first in line 4; remove one"}},
	{BASE "idle \"poll\";", {"conf:2: idle: '=' is missing after this name"}},
	{BASE "outbound_udp_checksum = 1;", {"conf:2: outbound_udp_checksum: '1' (a number) is neither true nor false"}},
	{BASE "send_icmp_too_big = yes;", {"conf:2: send_icmp_too_big: 'yes'" NO_VALUE "true"}},
	{BASE "lcores = { lcore-1 = {\nrx = Off; }; };", {"conf:3: lcores.lcore-1.rx: 'Off'" NO_VALUE "false"}},
	{BASE "idle = sleep;", {"conf:2: idle: 'sleep'" NO_VALUE "\"sleep\""}},
	{BASE "idle = 'sleep';", {"conf:2: idle: ''sleep''" NO_VALUE "\"sleep\""}},
	{"outbound_gateway_mac = 02:00:00:00:00:01;",
		{"conf:1: outbound_gateway_mac: '02:00:00:00:00:01'" NO_VALUE "\"02:00:00:00:00:01\""}},
	{BASE "flow_paths = ( { rx_port = 0; },\n# no\n{ rx_port = no; } );",
		{"conf:4: flow_paths[1].rx_port: 'no'" NO_VALUE "false"}},
	{BASE "hash_fields = [\nsrc_addr = true;\n];",
		{"conf:3: hash_fields[0]: 'src_addr =' cannot be in a list; write a group with { and }"}},
	{BASE "hash_fields = {\nsrc_addr = true;\n", {"conf:2: the '{' is not closed"}},
	{BASE "idle = \"poll;\noutbound_mtu = 1500;\n",
		{"conf:2: idle: the text that begins with \"poll; has no closing quote"}},
	{BASE "idle = \"poll;\nexception_path = \"tap\";\n",
		{"conf:2: idle: the text that begins with \"poll; has no closing quote"}},
	{BASE "idle = ;", {"conf:2: syntax error; the syntax is: key = value;"}},
	{BASE DEEP "a = yes;" CLOSE_DEEP, {"conf:2: syntax error; the syntax is: key = value;"}},
	{"[director]\nidle = poll", {"conf:1: syntax error; the syntax is: key = value;"}},
	{BASE "idle\u00a0= \"poll\";",
		{"conf:2: syntax error; the line has a character that is not ASCII, such as a no-break space of a web page: type its spaces and quotes again"}},
	{BASE "idle = \u201cpoll\u201d;", {"conf:2: idle: '\u201cpoll\u201d'" NO_VALUE "\"poll\""}},
	{BASE "outbond_mtu = 1500;", {"conf:2: outbond_mtu: unknown key; did you mean outbound_mtu?"}},
	{BASE "IDLE = \"poll\";", {"conf:2: IDLE: unknown key; did you mean idle?"}},
	{"{ \"idle\": 1 }",
		{"conf:1: syntax error; this looks like JSON, but the syntax is: key = value; if it is a file of GLB, convert it with glb-director-cli migrate"}},
	{BASE PATHS, {"conf:2: flow_paths: needs lcores, too; without both keys, every lcore polls its own queues"}},
	{BASE "lcores = { lcore-1 = { " RTC " }; };",
		{"conf:2: lcores: needs flow_paths, too; without both keys, every lcore polls its own queues"}},
	{BASE "flow_paths = ( );", {"conf:2: flow_paths: '()' is not a list ( { rx_port = 0; ... }, ... ) of paths"}},
	{BASE "flow_paths = 1;", {"conf:2: flow_paths: '1' (a number) is not a list ( { rx_port = 0; ... }, ... ) "
				  "of paths"}},
	{BASE "flow_paths = (\n{ rx_port = 32; rx_queue = 1024; tx_port = -1; } );",
		{"conf:3: flow_paths[0].rx_port: '32' is not an integer from 0 to 31",
			"conf:3: flow_paths[0].rx_queue: '1024' is not an integer from 0 to 1023",
			"conf:3: flow_paths[0].tx_port: '-1' is not an integer from 0 to 31",
			"conf:3: flow_paths[0].tx_queue: missing; write the queue to transmit on"}},
	{BASE "flow_paths = ( 1 );", {"conf:2: flow_paths[0]: '1' (a number) is not a group { key = value; ... }"}},
	{LCORES("core-1 = { " RTC " };"), {"conf:4: lcores.core-1: is not named lcore-0 to lcore-127"}},
	{LCORES("lcore-01 = { " RTC " };"), {"conf:4: lcores.lcore-01: is not named lcore-0 to lcore-127"}},
	{LCORES("lcore-128 = { " RTC " };"), {"conf:4: lcores.lcore-128: is not named lcore-0 to lcore-127"}},
	{LCORES("lcore-1 = { " RTC " };\nlcore-2 = { kni = true; };"),
		{"conf:5: lcores.lcore-2.kni: KNI was removed from DPDK; remove this key and set exception_path = \"tap\""}},
	{LCORES("lcore-1 = { rx = true; flow_paths = [0]; };"),
		{"conf:4: lcores.lcore-1: rx and tx go together: set both, or neither"}},
	{LCORES("lcore-1 = { rx = true; tx = true; };"),
		{"conf:4: lcores.lcore-1.flow_paths: missing; rx and tx need indices into "
		 "flow_paths, like [0]"}},
	{LCORES("lcore-1 = { rx = true; tx = true; flow_paths = []; };"),
		{"conf:4: lcores.lcore-1.flow_paths: '[]' is not a list of indices into "
		 "flow_paths, like [0, 1]"}},
	{LCORES("lcore-1 = { rx = true; tx = true; flow_paths = [0, 1]; };"),
		{"conf:4: lcores.lcore-1.flow_paths[1]: '1', but flow_paths has 1 element"}},
	{LCORES("lcore-1 = { " RTC " };\nlcore-2 = { " RTC " };"),
		{"conf:5: lcores.lcore-2.flow_paths[0]: '0' already belongs to lcore-1"}},
	{LCORES("lcore-1 = { " RTC " work = true; };"),
		{"conf:4: lcores.lcore-1.work: an lcore with rx and tx already works on the packets that it receives; remove work"}},
	{LCORES("lcore-1 = { " RTC " };\nlcore-2 = { };"),
		{"conf:5: lcores.lcore-2: has no role: set rx and tx, or work and work_source"}},
	{LCORES("lcore-1 = { " RTC " };\nlcore-2 = { work = true; };"),
		{"conf:5: lcores.lcore-2.work_source: missing; write the number N of the "
		 "distributor's lcore-N"}},
	{LCORES("lcore-1 = { " RTC " };\nlcore-2 = { work = true; work_source = 1; };"),
		{"conf:5: lcores.lcore-2.work_source: '1' is not an lcore with dist = true"}},
	{LCORES("lcore-1 = { " RTC " dist = true; };"),
		{"conf:4: lcores.lcore-1.num_dist_workers: missing; write how many lcores work for "
		 "it"}},
	{LCORES("lcore-1 = { " RTC " dist = true; num_dist_workers = 0; };"),
		{"conf:4: lcores.lcore-1.num_dist_workers: '0' is not an integer from 1 to 127"}},
	{LCORES("lcore-1 = { " RTC " dist = true; num_dist_workers = 2; };\n"
		"lcore-2 = { work = true; work_source = 1; };"),
		{"conf:4: lcores.lcore-1.num_dist_workers: '2', but 1 lcore has work_source = 1; write 1"}},
	{LCORES("lcore-1 = { " RTC " dist = true; num_dist_workers = 2; };"),
		{"conf:4: lcores.lcore-1.dist: no lcore has work_source = 1; remove dist and num_dist_workers"}},
	{LCORES("lcore-1 = { " RTC " num_dist_workers = 1; };"),
		{"conf:4: lcores.lcore-1.num_dist_workers: is for lcores with dist = true"}},
	{LCORES("lcore-1 = { dist = true; num_dist_workers = 1; };"),
		{"conf:4: lcores.lcore-1.dist: a distributor needs rx = true and tx = true"}},
	{BASE "num_worker_queues = 1;\nflow_paths = (\n{ rx_port = 0; rx_queue = 1; tx_port = 0; "
	      "tx_queue = 0; },\n{ rx_port = 0; rx_queue = 1; tx_port = 0; tx_queue = 0; });\n"
	      "lcores = { lcore-1 = { rx = true; tx = true; flow_paths = [0, 1]; }; };",
		{"conf:4: flow_paths[0].rx_queue: '1', but num_worker_queues is 1",
			"conf:5: flow_paths[1].rx_queue: '1', but num_worker_queues is 1",
			"conf:5: flow_paths[1]: receives from port 0 queue 1 like flow_paths[0]",
			"conf:5: flow_paths[1]: transmits on port 0 queue 0 like flow_paths[0]"}},
	{BASE "flow_paths = ( { rx_port = 0; rx_queue = 0; tx_port = 0; tx_queue = 0; },\n"
	      "{ rx_port = 1; rx_queue = 0; tx_port = 1; tx_queue = 0; } );\n"
	      "lcores = { lcore-1 = { " RTC " }; };",
		{"conf:3: flow_paths[1]: belongs to no lcore, so its queue would never be read"}},
};

static void test_every_fault_is_reported_with_line_key_and_value(void **state)
{
	struct conf conf;
	struct faults faults;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t expected = 0;

		assert_int_equal(read_conf(bad[i].text, &conf, &faults), -EINVAL);
		for (; expected < 4 && bad[i].errors[expected]; expected++) {
			if (expected >= faults.count)
				fail_msg("missing: %s", bad[i].errors[expected]);
			assert_string_equal(faults.items[expected].text, bad[i].errors[expected]);
		}
		if (faults.count > expected)
			fail_msg("unexpected: %s", faults.items[expected].text);
		assert_int_equal(faults.errors, expected);
		faults_clear(&faults);
	}
}

static void test_integers_in_strings_and_comments_are_ignored(void **state)
{
	struct conf conf;

	(void)state;
	read_good("# 99999999999\n// 99999999999\n/* 99999999999\n * \" */\n" BASE "idle = \"sl\" \"eep\"; /**/", &conf);
	assert_int_equal(conf.idle, CONF_IDLE_SLEEP);
}

static void test_frames_that_are_admitted(void **state)
{
	const struct admission *admission;
	struct conf conf;

	(void)state;
	admission = &conf.steering.admission;
	read_good(BASE, &conf);
	assert_int_equal(admission->accept, ADMISSION_LISTED);
	assert_int_equal(admission->mac_count, 0);
	assert_true(admission->drop_martians);
	assert_true(admission_accepts_vlan(admission, 0));
	assert_false(admission_accepts_tagged(admission));
	assert_int_equal(admission->outbound_vlan, 0);
	read_good_with_tags(BASE
		"accept_macs = [\"00:00:5e:00:01:0a\", \"0E:00:00:00:00:01\"]; accept_vlans = [0, 4094, 1]; "
		"outbound_vlan = 4094; drop_martians = false;",
		&conf);
	assert_int_equal(admission->mac_count, 2);
	assert_true(admission->macs[0] == 0x0a01005e0000 && admission->macs[1] == 0x01000000000e);
	for (uint16_t vlan = 0; vlan < 4096; vlan++)
		assert_int_equal(admission_accepts_vlan(admission, vlan), vlan <= 1 || vlan == 4094);
	assert_int_equal(admission->outbound_vlan, 4094);
	assert_false(admission->drop_martians);
	read_good_with_tags(BASE "accept_macs = \"any\"; accept_vlans = \"any\"; outbound_vlan = \"untagged\";", &conf);
	assert_int_equal(admission->accept, ADMISSION_EVERY_UNICAST);
	assert_true(admission_accepts_vlan(admission, 4095) && admission_accepts_tagged(admission));
	read_good(BASE "accept_vlans = \"untagged\";", &conf);
	assert_false(admission_accepts_tagged(admission));
	read_good(BASE "accept_vlans = [0]; accept_macs = (\"00:00:5e:00:01:0a\");", &conf); /* a list in parentheses */
	assert_false(admission_accepts_tagged(admission));
	assert_int_equal(admission->mac_count, 1);
}

static void test_equal_alt_hash_fields_are_a_warning(void **state)
{
	struct conf conf;
	struct faults faults;

	(void)state;
	assert_int_equal(read_conf(BASE "alt_hash_fields = { src_addr = true; };", &conf, &faults), 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults.items[0].text, "conf:2: alt_hash_fields: names the same fields "
						  "as hash_fields, so it has no effect");
	faults_clear(&faults);
}

static void test_interfaces_beside_a_fixed_mac_are_a_warning(void **state)
{
	struct faults faults;
	struct conf conf;

	(void)state;
	assert_int_equal(read_conf(BASE "outbound_vrf = \"blue\";\nport_interfaces = [\"eth1\"];\n", &conf, &faults), 0);
	assert_int_equal(faults.count, 2);
	assert_string_equal(faults.items[0].text,
		"conf:2: outbound_vrf: has no effect, because outbound_gateway_mac is not \"auto\"");
	assert_string_equal(faults.items[1].text,
		"conf:3: port_interfaces: has no effect, because outbound_gateway_mac is not \"auto\"");
	faults_clear(&faults);
}

static void test_replies_without_df_but_without_replies_are_a_warning(void **state)
{
	struct conf conf;
	struct faults faults;

	(void)state;
	assert_int_equal(read_conf(BASE "send_icmp_too_big_without_df = true;", &conf, &faults), 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults.items[0].text,
		"conf:2: send_icmp_too_big_without_df: has no effect, because send_icmp_too_big is false");
	faults_clear(&faults);
	read_good(BASE "send_icmp_too_big_without_df = true; send_icmp_too_big = true;", &conf);
	read_good(BASE "send_icmp_too_big_without_df = false;", &conf);
}

static void test_limits_of_no_exception_path_are_a_warning(void **state)
{
	struct conf conf;
	struct faults faults;

	(void)state;
	read_good(BASE "exception_path = \"tap\"; exception_limits = { other = 7; };", &conf);
	assert_int_equal(conf.exception_limits.control, 10000);
	assert_int_equal(conf.exception_limits.other, 7);
	assert_int_equal(read_conf(BASE "exception_limits = { other = 7; };", &conf, &faults), 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(
		faults.items[0].text, "conf:2: exception_limits: has no effect, because exception_path is \"none\"");
	faults_clear(&faults);
	assert_int_equal(
		read_conf(BASE "exception_path = \"tap\"; exception_limits = { control = 0; };", &conf, &faults), 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults.items[0].text,
		"conf:2: exception_limits.control: 0 lets neither ARP nor ND through, so nobody reaches the kernel; set at least 100");
	faults_clear(&faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_keys_are_enough),
		cmocka_unit_test(test_a_source_address_of_one_family_is_enough),
		cmocka_unit_test(test_every_key_is_read),
		cmocka_unit_test(test_every_fault_is_reported_with_line_key_and_value),
		cmocka_unit_test(test_integers_in_strings_and_comments_are_ignored),
		cmocka_unit_test(test_frames_that_are_admitted),
		cmocka_unit_test(test_equal_alt_hash_fields_are_a_warning),
		cmocka_unit_test(test_interfaces_beside_a_fixed_mac_are_a_warning),
		cmocka_unit_test(test_replies_without_df_but_without_replies_are_a_warning),
		cmocka_unit_test(test_limits_of_no_exception_path_are_a_warning),
	};

	return cmocka_run_group_tests(tests, create_file, remove_file);
}
