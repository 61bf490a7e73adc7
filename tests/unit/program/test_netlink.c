/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "program/netlink/netlink.h"

static uint16_t flags_of(uint16_t flags)
{
	static char buf[NETLINK_MAX];
	void *header;

	return netlink_begin(buf, RTM_NEWNEIGH, flags, sizeof(struct ndmsg), &header)->nlmsg_flags;
}

/* NLM_F_REPLACE and NLM_F_EXCL of a change are bits of NLM_F_DUMP. Without an acknowledgement, netlink_get() would wait
 * until it gives up. */
static void test_acknowledgement(void **)
{
	assert_int_equal(flags_of(0), NLM_F_REQUEST | NLM_F_ACK);
	assert_int_equal(
		flags_of(NLM_F_CREATE | NLM_F_REPLACE), NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE | NLM_F_ACK);
	assert_int_equal(flags_of(NLM_F_CREATE | NLM_F_EXCL), NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
	assert_int_equal(flags_of(NLM_F_DUMP), NLM_F_REQUEST | NLM_F_DUMP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
