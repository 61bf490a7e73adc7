/* SPDX-License-Identifier: BSD-3-Clause */
/* mbuf.h on frames of every shape that a driver may deliver. Uses the real DPDK library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "worker/mbuf.h"

enum {
	POOL_SIZE = 63,
	DATA_ROOM = RTE_PKTMBUF_HEADROOM + 256,
};

static struct rte_mempool *pool;

static void assert_nothing_leaked(void)
{
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

/* Byte i of the frame is i modulo 251, independent of the segments. */
static struct rte_mbuf *frame_of(const uint16_t *sizes, unsigned segments)
{
	struct rte_mbuf *first = NULL;
	unsigned at = 0;

	for (unsigned i = 0; i < segments; i++) {
		struct rte_mbuf *segment = rte_pktmbuf_alloc(pool);
		uint8_t *to = (uint8_t *)rte_pktmbuf_append(segment, sizes[i]);

		for (unsigned j = 0; j < sizes[i]; j++)
			to[j] = (uint8_t)(at++ % 251);
		if (first)
			rte_pktmbuf_chain(first, segment);
		else
			first = segment;
	}
	return first;
}

/* Checks that `count` bytes of the frame at `offset` are the bytes at `from` of a frame of frame_of(). */
static void assert_bytes(const struct rte_mbuf *mbuf, unsigned offset, unsigned count, unsigned from)
{
	uint8_t copy[2048];
	const uint8_t *bytes = rte_pktmbuf_read(mbuf, offset, count, copy);

	assert_non_null(bytes);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(bytes[i], (from + i) % 251);
}

static void test_a_writable_mbuf_is_used_as_it_is(void **state)
{
	struct rte_mbuf *mbuf = frame_of((uint16_t[]){100}, 1);
	struct burst *burst = calloc(1, sizeof(*burst));

	(void)state;
	assert_true(mbuf_is_writable(mbuf));
	mbuf_to_lane(mbuf, burst, 5);
	assert_ptr_equal(burst->frame[5], rte_pktmbuf_mtod(mbuf, void *));
	assert_int_equal(burst->headroom[5], RTE_PKTMBUF_HEADROOM);
	assert_int_equal(burst->readable[5], 100);
	assert_int_equal(burst->size[5], 100);
	free(burst);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

/* The frame as the switch sent it, from the mbuf of a driver that has taken out one tag or two. */
static void test_tags_that_the_driver_took_out_are_in_the_frame_again(void **state)
{
	(void)state;
	for (unsigned tags = 1; tags <= 2; tags++) {
		struct rte_mbuf *mbuf = frame_of((uint16_t[]){100}, 1);
		uint32_t size = 100 + 4 * tags;
		const uint8_t *at;

		mbuf->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		mbuf->vlan_tci = 0x2064;
		if (tags == 2) {
			mbuf->ol_flags |= RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED;
			mbuf->vlan_tci_outer = 0x00c8;
		}
		assert_false(mbuf_is_writable(mbuf));
		mbuf = mbuf_make_writable(mbuf, pool);
		assert_non_null(mbuf);
		assert_true(mbuf_is_writable(mbuf));
		assert_int_equal(mbuf->pkt_len, size);
		assert_bytes(mbuf, 0, 12, 0);
		assert_bytes(mbuf, 12 + 4 * tags, 88, 12);
		at = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, 12);
		assert_memory_equal(at, tags == 2 ? "\x81\x00\x00\xc8\x81\x00\x20\x64" : "\x81\x00\x20\x64", 4 * tags);
		rte_pktmbuf_free(mbuf);
	}
	assert_nothing_leaked();
}

static void test_commit_takes_the_new_start_and_size(void **state)
{
	struct rte_mbuf *mbuf = frame_of((uint16_t[]){100}, 1);
	uint8_t *out = rte_pktmbuf_mtod(mbuf, uint8_t *) - 40;

	(void)state;
	mbuf->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_RSS_HASH;
	mbuf->vlan_tci = 7;
	mbuf->hash.rss = 0x12345678;
	mbuf->port = 0;
	assert_true(mbuf_commit(mbuf, out, 40 + 90, false));
	assert_ptr_equal(rte_pktmbuf_mtod(mbuf, uint8_t *), out);
	assert_int_equal(mbuf->pkt_len, 130);
	assert_int_equal(mbuf->data_len, 130);
	assert_int_equal(mbuf->ol_flags, 0);
	assert_int_equal(mbuf->vlan_tci, 0);
	assert_int_equal(mbuf->hash.rss, 0x12345678);
	assert_int_equal(mbuf->port, RTE_MBUF_PORT_INVALID); /* as if no port had received it */
	assert_true(mbuf_is_writable(mbuf));
	assert_bytes(mbuf, 40, 90, 0);
	rte_mbuf_sanity_check(mbuf, 1);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

static void test_several_segments_are_copied_into_one_that_holds_them(void **state)
{
	struct rte_mbuf *mbuf = frame_of((uint16_t[]){10, 60, 1, 80}, 4);

	(void)state;
	assert_false(mbuf_is_writable(mbuf));
	mbuf = mbuf_make_writable(mbuf, pool);
	assert_non_null(mbuf);
	assert_true(mbuf_is_writable(mbuf));
	assert_int_equal(mbuf->data_len, 151);
	assert_int_equal(mbuf->data_off, RTE_PKTMBUF_HEADROOM);
	assert_bytes(mbuf, 0, 151, 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 1); /* the original went back */
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

/* Packets to IPv6 proxies of rows with more than five hops need more room than drivers leave. */
static void test_room_is_made_before_a_frame(void **state)
{
	static const uint16_t shapes[][3] = {{60}, {256 - 72}, {256 - 71}, {256}, {256, 200, 1}};
	static const unsigned segments[] = {1, 1, 2, 2, 4};

	(void)state;
	for (unsigned i = 0; i < sizeof(segments) / sizeof(*segments); i++) {
		struct rte_mbuf *mbuf = frame_of(shapes[i], shapes[i][1] ? 3 : 1);
		uint32_t size = mbuf->pkt_len;

		assert_true(mbuf_make_room(mbuf, 200, pool));
		assert_int_equal(mbuf->data_off, 200);
		assert_int_equal(mbuf->nb_segs, segments[i]);
		assert_int_equal(mbuf->pkt_len, size);
		rte_mbuf_sanity_check(mbuf, 1);
		assert_bytes(mbuf, 0, size, 0);
		assert_true(mbuf_make_room(mbuf, 200, pool)); /* there is enough now */
		assert_int_equal(mbuf->nb_segs, segments[i]);
		rte_pktmbuf_free(mbuf);
		assert_nothing_leaked();
	}
}

static void test_room_without_a_buffer_changes_nothing(void **state)
{
	struct rte_mbuf *all[POOL_SIZE], *mbuf = frame_of((uint16_t[]){256}, 1);

	(void)state;
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, all, POOL_SIZE - 1), 0);
	assert_false(mbuf_make_room(mbuf, 200, pool));
	assert_int_equal(mbuf->data_off, RTE_PKTMBUF_HEADROOM);
	assert_bytes(mbuf, 0, 256, 0);
	rte_pktmbuf_free_bulk(all, POOL_SIZE - 1);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

static void test_a_copy_fills_its_first_segment(void **state)
{
	struct rte_mbuf *mbuf = frame_of((uint16_t[]){14, 200, 200, 200}, 4);

	(void)state;
	mbuf = mbuf_make_writable(mbuf, pool);
	assert_non_null(mbuf);
	assert_int_equal(mbuf->data_len, DATA_ROOM - RTE_PKTMBUF_HEADROOM);
	assert_int_equal(mbuf->pkt_len, 614);
	assert_int_equal(mbuf->data_off, RTE_PKTMBUF_HEADROOM);
	assert_bytes(mbuf, 0, 614, 0);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

static void test_a_shared_frame_is_not_written_to(void **state)
{
	struct rte_mbuf *other = frame_of((uint16_t[]){100}, 1), *mbuf = other;

	(void)state;
	rte_mbuf_refcnt_update(mbuf, 1);
	assert_false(mbuf_is_writable(mbuf));
	mbuf = mbuf_make_writable(mbuf, pool);
	assert_ptr_not_equal(mbuf, other);
	assert_true(mbuf_is_writable(mbuf));
	memset(rte_pktmbuf_mtod(mbuf, void *), 0xee, 100);
	assert_int_equal(rte_mbuf_refcnt_read(other), 1);
	assert_bytes(other, 0, 100, 0);
	rte_pktmbuf_free(mbuf);
	rte_pktmbuf_free(other);
	assert_nothing_leaked();
}

static void test_a_clone_is_not_written_to(void **state)
{
	struct rte_mbuf *other = frame_of((uint16_t[]){100}, 1);
	struct rte_mbuf *mbuf = rte_pktmbuf_clone(other, pool);

	(void)state;
	assert_false(mbuf_is_writable(mbuf));
	assert_false(mbuf_is_writable(other)); /* two mbufs use its buffer */
	mbuf = mbuf_make_writable(mbuf, pool);
	assert_true(mbuf_is_writable(mbuf));
	assert_bytes(mbuf, 0, 100, 0);
	memset(rte_pktmbuf_mtod(mbuf, void *), 0xee, 100);
	assert_bytes(other, 0, 100, 0);
	assert_true(mbuf_is_writable(other));
	rte_pktmbuf_free(mbuf);
	rte_pktmbuf_free(other);
	assert_nothing_leaked();
}

static void nothing_to_free(void *address, void *context)
{
	(void)address;
	*(bool *)context = true;
}

static void test_an_external_buffer_is_copied(void **state)
{
	static bool freed;
	uint8_t *buffer = rte_malloc(NULL, 512, 64);
	uint16_t size = 512;
	struct rte_mbuf_ext_shared_info *shared =
		rte_pktmbuf_ext_shinfo_init_helper(buffer, &size, nothing_to_free, &freed);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		buffer[i] = (uint8_t)(i % 251);
	rte_pktmbuf_attach_extbuf(mbuf, buffer, RTE_BAD_IOVA, size, shared);
	mbuf->data_off = 0;
	mbuf->data_len = 100;
	mbuf->pkt_len = 100;
	assert_false(mbuf_is_writable(mbuf));
	mbuf = mbuf_make_writable(mbuf, pool);
	assert_true(mbuf_is_writable(mbuf));
	assert_true(freed);
	assert_bytes(mbuf, 0, 100, 0);
	rte_pktmbuf_free(mbuf);
	rte_free(buffer);
	assert_nothing_leaked();
}

static void test_without_a_buffer_the_frame_stays(void **state)
{
	struct rte_mbuf *mbuf = frame_of((uint16_t[]){10, 20}, 2), *all[POOL_SIZE];
	unsigned rest = rte_mempool_avail_count(pool);

	(void)state;
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, all, rest), 0);
	assert_null(mbuf_make_writable(mbuf, pool));
	assert_bytes(mbuf, 0, 30, 0);
	rte_pktmbuf_free_bulk(all, rest);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

/* Commits a copy of 614 bytes, in segments of 256, 256 and 102, with 40 bytes more in front and `cut` bytes less at the end. */
static void check_commit_of_segments(unsigned cut, unsigned segments)
{
	struct rte_mbuf *mbuf = mbuf_make_writable(frame_of((uint16_t[]){14, 200, 200, 200}, 4), pool);
	uint8_t *out = rte_pktmbuf_mtod(mbuf, uint8_t *) - 40;

	assert_int_equal(mbuf_commit(mbuf, out, 654 - cut, false), segments == 1);
	assert_int_equal(mbuf->nb_segs, segments);
	assert_int_equal(mbuf->pkt_len, 654 - cut);
	assert_int_equal(rte_mempool_in_use_count(pool), segments); /* the others went back */
	rte_mbuf_sanity_check(mbuf, 1);
	assert_bytes(mbuf, 40, 614 - cut, 0);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

static void test_padding_is_cut_off_in_any_segment(void **state)
{
	(void)state;
	check_commit_of_segments(0, 3);
	check_commit_of_segments(1, 3);
	check_commit_of_segments(101, 3);
	check_commit_of_segments(102, 2);
	check_commit_of_segments(103, 2);
	check_commit_of_segments(357, 2);
	check_commit_of_segments(358, 1);
	check_commit_of_segments(500, 1);
}

static void test_several_segments_are_sent_if_allowed(void **state)
{
	struct rte_mbuf *mbuf = mbuf_make_writable(frame_of((uint16_t[]){200, 200}, 2), pool);

	(void)state;
	assert_true(mbuf_commit(mbuf, rte_pktmbuf_mtod(mbuf, uint8_t *) - 40, 440, true));
	assert_int_equal(mbuf->nb_segs, 2);
	assert_int_equal(mbuf->data_len, 40 + 256);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

static void test_a_reply_inside_the_first_segment(void **state)
{
	struct rte_mbuf *mbuf = mbuf_make_writable(frame_of((uint16_t[]){14, 200, 200, 200}, 4), pool);
	uint8_t *out = rte_pktmbuf_mtod(mbuf, uint8_t *) + 8; /* the removed VLAN tags leave room */

	(void)state;
	assert_true(mbuf_commit(mbuf, out, 100, false));
	assert_int_equal(mbuf->nb_segs, 1);
	assert_int_equal(mbuf->pkt_len, 100);
	assert_bytes(mbuf, 0, 100, 8);
	rte_pktmbuf_free(mbuf);
	assert_nothing_leaked();
}

int main(void)
{
	static char *arguments[] = {"test_mbuf", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level=error", "-m", "16", "-l", "0", NULL};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_writable_mbuf_is_used_as_it_is),
		cmocka_unit_test(test_tags_that_the_driver_took_out_are_in_the_frame_again),
		cmocka_unit_test(test_commit_takes_the_new_start_and_size),
		cmocka_unit_test(test_several_segments_are_copied_into_one_that_holds_them),
		cmocka_unit_test(test_room_is_made_before_a_frame),
		cmocka_unit_test(test_room_without_a_buffer_changes_nothing),
		cmocka_unit_test(test_a_copy_fills_its_first_segment),
		cmocka_unit_test(test_a_shared_frame_is_not_written_to),
		cmocka_unit_test(test_a_clone_is_not_written_to),
		cmocka_unit_test(test_an_external_buffer_is_copied),
		cmocka_unit_test(test_without_a_buffer_the_frame_stays),
		cmocka_unit_test(test_padding_is_cut_off_in_any_segment),
		cmocka_unit_test(test_several_segments_are_sent_if_allowed),
		cmocka_unit_test(test_a_reply_inside_the_first_segment),
	};
	int failed;

	if (rte_eal_init((int)RTE_DIM(arguments) - 1, arguments) < 0)
		return EXIT_FAILURE;
	pool = rte_pktmbuf_pool_create("test", POOL_SIZE, 0, 0, DATA_ROOM, SOCKET_ID_ANY);
	failed = pool ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	rte_eal_cleanup();
	return failed;
}
