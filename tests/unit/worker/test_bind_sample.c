/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of binds: which bind a packet of each kind counts for, how much it counts, and how large the error is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gue/encapsulate.h"
#include "tests/unit/handmade.h"
#include "tests/unit/packets.h"
#include "worker/counts/bind_sample.h"

enum {
	FIRST, /* of table 0: TCP port 80 of VIP */
	RANGE, /* of table 0: TCP ports 70-90 of VIP */
	DNS, /* of table 0: UDP port 53 of VIP */
	V6, /* of table 1: TCP port 80 of VIP6 */
	V6_NET, /* of table 1: all TCP ports of the network of VIP6 */
	BINDS,
	MOST = BURST_MAX,
	HEADROOM = 192,
};

static struct live_table live;
static struct outbox outbox;
static struct sampler sampler;
static struct rte_mbuf mbufs[MOST];
static uint8_t buffers[MOST][HEADROOM + PACKET_MAX];

/* Puts a packet into the outbox, as it leaves the pipeline. tagged: with outbound_vlan. six: with outer IPv6. */
static void put_outer(const struct packet *packet, unsigned hops, bool six, bool tagged)
{
	static const struct net_ipv6_address ipv6;
	static const struct encapsulate_outer outer;
	static const uint32_t addresses[ENCAPSULATE_MAX_HOPS];
	uint16_t at = outbox.count;
	uint32_t ip = packet->ip[0], size = packet->size - ip;
	uint8_t *inner = buffers[at] + HEADROOM, *out = inner - encapsulate_size(six, hops);

	memcpy(inner, packet->bytes + ip, size);
	encapsulate_write(out, &outer, addresses, hops, six ? &ipv6 : NULL, size,
		inner[0] >> 4 == 4 ? GUE_INNER_IPV4 : GUE_INNER_IPV6, 0x8000);
	if (tagged) {
		memmove(out - 4, out, 12);
		out -= 4;
		memcpy(out + 12, (uint8_t[]){0x81, 0, 0, 7}, 4);
	}
	mbufs[at] = (struct rte_mbuf){.buf_addr = buffers[at], .data_off = (uint16_t)(out - buffers[at]), .nb_segs = 1};
	mbufs[at].pkt_len = (uint32_t)(inner + size - out);
	mbufs[at].data_len = (uint16_t)mbufs[at].pkt_len;
	outbox_put(&outbox, &mbufs[at], VERDICT_FORWARDED, 0);
}

static void put(const struct packet *packet, unsigned hops, bool tagged)
{
	put_outer(packet, hops, false, tagged);
}

static uint64_t packets_of(unsigned bind)
{
	return count_rows_sum(&live.counts.binds, BIND_PACKETS, bind);
}

static uint64_t bytes_of(unsigned bind)
{
	return count_rows_sum(&live.counts.binds, BIND_BYTES, bind);
}

static void clear(void)
{
	table_counts_free(&live.counts);
	assert_true(table_counts_alloc(&live.counts, live.routes, 2));
	memset(&outbox, 0, sizeof(outbox));
}

/* Samples the outbox as the worker does. */
static struct bind_sample choose(void)
{
	uint32_t weight = sample_burst(&sampler, outbox.count).bind;

	return weight ? bind_sample_choose(&sampler, &outbox, weight, live.routes) : (struct bind_sample){0};
}

/* Asserts that the only packet of an outbox counts for a bind; BINDS: for none. */
static void check(const struct packet *packet, unsigned bind)
{
	for (unsigned hops = 1; hops <= ENCAPSULATE_MAX_HOPS; hops += 2) {
		for (unsigned way = 0; way < (hops <= ENCAPSULATE_MAX_IPV6 ? 4 : 2); way++) {
			struct bind_sample sample;

			clear();
			put_outer(packet, hops, way > 1, way % 2);
			sample = choose();
			bind_sample_count(&sample, 1, &live, 1);
			for (unsigned i = 0; i < BINDS; i++) {
				assert_int_equal(packets_of(i), i == bind);
				assert_int_equal(bytes_of(i), i == bind ? mbufs[0].pkt_len : 0);
			}
		}
	}
}

static struct packet tcp4(unsigned option_words, uint16_t fragment, uint16_t port)
{
	struct packet packet = packet_ethernet();
	uint8_t *ip = packet_ipv4(&packet, CLIENT, VIP, IPPROTO_TCP);

	store_be16(ip + 6, fragment);
	packet_options(&packet, option_words);
	packet_ports(&packet, 20, 40000, port);
	return packet;
}

static void test_a_packet_counts_for_the_first_bind_that_matches_it(void **state)
{
	struct packet packet;

	(void)state;
	packet = tcp4(0, 0, 80);
	check(&packet, FIRST);
	packet = tcp4(10, 0, 80);
	check(&packet, FIRST);
	packet = tcp4(0, 0, 90);
	check(&packet, RANGE);
	packet = tcp4(0, 0x2000, 79); /* a first fragment */
	check(&packet, RANGE);
	packet = packet_ethernet();
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_UDP);
	packet_ports(&packet, 8, 40000, 53);
	check(&packet, DNS);
	packet = packet_tcp6(40000, 80);
	check(&packet, V6);
	packet = packet_tcp6(40000, 81);
	check(&packet, V6_NET);
	packet = packet_ethernet();
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_DSTOPTS);
	packet_extension(&packet, IPPROTO_TCP, 0);
	packet_ports(&packet, 20, 40000, 81);
	check(&packet, V6_NET);
}

/* Pings and later fragments have no ports, and an ICMP error has those of the packet that it quotes. */
static void test_a_packet_without_ports_counts_for_the_first_bind_of_its_address(void **state)
{
	struct packet packet = packet_ethernet();

	(void)state;
	packet_ipv4(&packet, CLIENT, VIP, IPPROTO_ICMP);
	packet_icmp(&packet, 8, 0);
	check(&packet, FIRST);
	packet = tcp4(0, 100, 90);
	check(&packet, FIRST);
	packet = packet_ethernet();
	packet_ipv6(&packet, CLIENT6, VIP6, IPPROTO_ICMPV6);
	packet_icmp(&packet, 128, 0);
	check(&packet, V6);
	packet = packet_error4(3);
	packet_ipv4(&packet, VIP, CLIENT, IPPROTO_TCP);
	packet_ports(&packet, 8, 71, 40000);
	check(&packet, RANGE);
}

static void test_a_packet_that_is_not_sent_counts_for_no_bind(void **state)
{
	struct packet packet = tcp4(0, 0, 80);
	struct bind_sample sample;

	(void)state;
	clear();
	sample = choose();
	bind_sample_count(&sample, 64, &live, 0);
	put(&packet, 2, false);
	sample = choose();
	bind_sample_count(&sample, 0, &live, 0);
	outbox.outcomes[0].verdict = VERDICT_ANSWERED_TOO_BIG;
	sample = choose();
	bind_sample_count(&sample, 1, &live, 0);
	assert_int_equal(packets_of(FIRST), 0);
	assert_int_equal(bytes_of(FIRST), 0);
}

/*
 * Runs outboxes of `count` packets, of which about one in ten is for the second bind and has twice as many bytes. The queue
 * accepts `accepted` of them. Fills the packets and bytes that it accepted for each of the two binds.
 */
static void run(unsigned rounds, unsigned count, unsigned accepted, uint64_t packets[2], uint64_t bytes[2])
{
	struct packet of_bind[2] = {[FIRST] = tcp4(0, 0, 80), [RANGE] = tcp4(0, 0, 90)};

	packet_append(&of_bind[RANGE], 94);
	clear();
	sample_begin(&sampler, 1);
	packets[0] = packets[1] = bytes[0] = bytes[1] = 0;
	for (unsigned round = 0; round < rounds; round++) {
		struct bind_sample sample;

		memset(&outbox, 0, sizeof(outbox));
		for (unsigned i = 0; i < count; i++) {
			unsigned bind = (round * 31 + i * 7) % 10 ? FIRST : RANGE;

			put(&of_bind[bind], 2, false);
			packets[bind] += i < accepted;
			bytes[bind] += i < accepted ? mbufs[i].pkt_len : 0;
		}
		sample = choose();
		bind_sample_count(&sample, accepted, &live, round % 2);
	}
}

static void test_single_packets_are_counted_exactly(void **state)
{
	uint64_t packets[2], bytes[2];

	(void)state;
	run(1000, 1, 1, packets, bytes);
	for (unsigned bind = FIRST; bind <= RANGE; bind++) {
		assert_int_equal(packets_of(bind), packets[bind]);
		assert_int_equal(bytes_of(bind), bytes[bind]);
	}
	run(1000, SAMPLE_MANY - 1, SAMPLE_MANY - 1, packets, bytes);
	assert_int_equal(packets_of(FIRST) + packets_of(RANGE), 1000 * (SAMPLE_MANY - 1));
}

/*
 * The numbers are not random from run to run, so this test always gives the same result. The bounds are three times the
 * expected error of docs/reference/counters.md.
 */
static void test_binds_of_90_and_10_percent_are_estimated_within_the_expected_error(void **state)
{
	static const unsigned cases[][2] = {{64, 64}, {64, 20}, {16, 16}, {7, 7}};

	(void)state;
	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		unsigned count = cases[c][0], accepted = cases[c][1];
		uint64_t packets[2], bytes[2];

		run(600000 / count, count, accepted, packets, bytes);
		for (unsigned bind = FIRST; bind <= RANGE; bind++) {
			int64_t error = (int64_t)(packets_of(bind) - packets[bind]);
			uint64_t every = count < SAMPLE_MANY ? 1 : SAMPLE_EVERY;

			assert_true((uint64_t)(error * error) <= 9 * every * count * count / accepted * packets[bind]);
			assert_int_equal(bytes_of(bind), packets_of(bind) * (bytes[bind] / packets[bind]));
		}
	}
}

static void test_bursts_are_sampled_at_random_intervals(void **state)
{
	unsigned found[2 * SAMPLE_EVERY] = {0}, different = 0, bursts = 0;

	(void)state;
	sample_begin(&sampler, 1);
	sampler.credit = 0;
	for (unsigned sample = 0; sample < 10000; sample++) {
		struct sample_weights weights;
		unsigned interval = 1;

		for (; !(weights = sample_burst(&sampler, SAMPLE_FULL)).bind; interval++) {
			assert_int_equal(weights.backend, 0);
			weights = sample_burst(&sampler, SAMPLE_MANY - 1);
			assert_int_equal(weights.backend, 1);
			assert_int_equal(weights.bind, 1);
		}
		assert_int_equal(weights.backend, SAMPLE_EVERY);
		assert_int_equal(weights.bind, SAMPLE_EVERY);
		assert_in_range(interval, 33, 95);
		different += !found[interval]++;
		bursts += interval;
	}
	assert_int_equal(different, 63);
	assert_in_range(bursts, 63 * 10000, 65 * 10000);
}

static void test_each_packet_of_a_medium_burst_counts_for_its_backend(void **state)
{
	unsigned for_binds = 0;

	(void)state;
	sample_begin(&sampler, 1);
	for (unsigned burst = 0; burst < 10000; burst++) {
		struct sample_weights weights = sample_burst(&sampler, burst % 2 ? SAMPLE_MANY : SAMPLE_FULL - 1);

		assert_int_equal(weights.backend, 1);
		assert_int_equal(weights.bind % SAMPLE_EVERY, 0);
		for_binds += weights.bind;
	}
	assert_in_range(for_binds, 9500, 10500);
}

static void test_credit_is_limited(void **state)
{
	(void)state;
	sample_begin(&sampler, 1);
	sample_regain(&sampler);
	assert_int_equal(sampler.credit, SAMPLE_CREDIT);
}

static int set_up(void **state)
{
	struct table_set set = {0};

	(void)state;
	handmade_table(&set, 2, 2);
	handmade_table(&set, 2, 2);
	handmade_bind(&set, 0, VIP, TABLE_TCP, 80, 80);
	handmade_bind(&set, 0, VIP, TABLE_TCP, 70, 90);
	handmade_bind(&set, 0, VIP, TABLE_UDP, 53, 53);
	handmade_bind(&set, 1, VIP6, TABLE_TCP, 80, 80);
	handmade_bind(&set, 1, "fdb4::/64", TABLE_TCP, 0, 65535);
	live.routes = handmade_routes(&set);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	table_counts_free(&live.counts);
	routes_free(live.routes);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bursts_are_sampled_at_random_intervals),
		cmocka_unit_test(test_each_packet_of_a_medium_burst_counts_for_its_backend),
		cmocka_unit_test(test_credit_is_limited),
		cmocka_unit_test(test_a_packet_counts_for_the_first_bind_that_matches_it),
		cmocka_unit_test(test_a_packet_without_ports_counts_for_the_first_bind_of_its_address),
		cmocka_unit_test(test_a_packet_that_is_not_sent_counts_for_no_bind),
		cmocka_unit_test(test_single_packets_are_counted_exactly),
		cmocka_unit_test(test_binds_of_90_and_10_percent_are_estimated_within_the_expected_error),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
