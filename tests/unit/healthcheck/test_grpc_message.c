/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "healthcheck/checks/grpc/grpc_message.h"

/* Reads a copy of exactly this size, so that the sanitizers see every byte that is read beyond it. */
static const char *read_exactly(const void *body, size_t size, uint64_t *status)
{
	uint8_t *copy = malloc(size + !size);
	const char *why;

	assert_non_null(copy);
	memcpy(copy, body, size);
	why = grpc_reply_read(copy, size, status);
	free(copy);
	return why;
}

#define READ(text, status) read_exactly(text, sizeof(text) - 1, status)

static void assert_status(const void *message, size_t size, uint64_t expected)
{
	uint8_t body[64] = {0, 0, 0, 0, (uint8_t)size};
	uint64_t status = 99;

	memcpy(body + 5, message, size);
	assert_null(read_exactly(body, 5 + size, &status));
	assert_true(status == expected);
}

#define STATUS(message, expected) assert_status(message, sizeof(message) - 1, expected)

static void assert_malformed(const void *message, size_t size)
{
	uint8_t body[64] = {0, 0, 0, 0, (uint8_t)size};
	uint64_t status;

	memcpy(body + 5, message, size);
	assert_string_equal(read_exactly(body, 5 + size, &status), "the message is not a HealthCheckResponse");
}

#define MALFORMED(message) assert_malformed(message, sizeof(message) - 1)

static void test_requests(void **state)
{
	static const uint8_t all[] = {0, 0, 0, 0, 0}, one[] = {0, 0, 0, 0, 5, 0x0a, 3, 'a', '.', 'b'};
	uint8_t to[GRPC_REQUEST_MAX];
	char name[CHECK_GRPC_SERVICE_MAX + 1] = {0};

	(void)state;
	assert_int_equal(grpc_request_write(to, ""), sizeof(all));
	assert_memory_equal(to, all, sizeof(all));
	assert_int_equal(grpc_request_write(to, "a.b"), sizeof(one));
	assert_memory_equal(to, one, sizeof(one));
	memset(name, 'x', 127);
	assert_int_equal(grpc_request_write(to, name), 5 + 2 + 127);
	assert_memory_equal(to, "\0\0\0\0\x81\x0a\x7fx", 8);
	memset(name, 'x', CHECK_GRPC_SERVICE_MAX);
	assert_int_equal(grpc_request_write(to, name), GRPC_REQUEST_MAX);
	assert_memory_equal(to, "\0\0\0\x01\x02\x0a\xff\x01x", 9);
}

static void test_statuses(void **state)
{
	(void)state;
	STATUS("\x08\x01", GRPC_SERVING);
	STATUS("\x08\x02", 2);
	STATUS("", 0); /* protobuf leaves out a value of 0 */
	STATUS("\x08\x81\x00", GRPC_SERVING); /* longer than necessary */
	STATUS("\x08\x02\x08\x01", GRPC_SERVING); /* the last one counts */
	STATUS("\x08\x01\x08\x02", 2);
	STATUS("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", UINT64_MAX); /* -1 */
	STATUS("\x08\x81\x80\x80\x80\x10", (1ull << 32) + 1); /* not cut to 32 bits, which would be SERVING */
	assert_string_equal(grpc_serving_name(3), "SERVICE_UNKNOWN");
	assert_null(grpc_serving_name(4));
	assert_null(grpc_serving_name(UINT64_MAX));
}

static void test_unknown_fields_are_skipped(void **state)
{
	(void)state;
	STATUS("\x10\x07\x08\x01", GRPC_SERVING);
	STATUS("\x11"
	       "12345678\x08\x01",
		GRPC_SERVING);
	STATUS("\x12\x03"
	       "abc\x08\x01",
		GRPC_SERVING);
	STATUS("\x15"
	       "1234\x08\x01",
		GRPC_SERVING);
	STATUS("\x0a\x01\x01", 0); /* the field has another type */
	STATUS("\xf8\xff\xff\xff\x0f\x01", 0); /* the largest field */
}

static void test_malformed_messages(void **state)
{
	(void)state;
	MALFORMED("\x08");
	MALFORMED("\x08\x81");
	MALFORMED("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"); /* more than 64 bits */
	MALFORMED("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	MALFORMED("\x00\x01"); /* field 0 */
	MALFORMED("\x0b\x0c"); /* a group */
	MALFORMED("\x0e"); /* no type has this number */
	MALFORMED("\x11"
		  "1234567");
	MALFORMED("\x15"
		  "123");
	MALFORMED("\x12\x04"
		  "abc");
	MALFORMED("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"); /* a length of 2^64 - 1 */
	MALFORMED("\xf8\xff\xff\xff\x1f\x01"); /* a field beyond the largest */
}

static void test_bad_prefixes(void **state)
{
	static const char whole[] = "\0\0\0\0\x02\x08\x01";
	uint64_t status;

	(void)state;
	assert_string_equal(read_exactly("", 0, &status), "the reply has no message");
	for (size_t size = 1; size < sizeof(whole) - 1; size++)
		assert_string_equal(read_exactly(whole, size, &status), "the message is cut off");
	assert_string_equal(READ("\x01\0\0\0\x02\x08\x01", &status), "the message is compressed");
	assert_string_equal(READ("\x80", &status), "the message is compressed");
	assert_string_equal(READ("\0\0\0\x04\x01\x08\x01", &status), "the message has more than 1024 bytes");
	assert_string_equal(READ("\0\xff\xff\xff\xff\x08\x01", &status), "the message has more than 1024 bytes");
	assert_string_equal(READ("\0\0\0\x04\0\x08\x01", &status), "the message is cut off");
	assert_string_equal(
		READ("\0\0\0\0\x02\x08\x01\0\0\0\0\x02\x08\x01", &status), "the reply has more than one message");
	assert_string_equal(READ("\0\0\0\0\0\0", &status), "the reply has more than one message");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_unknown_fields_are_skipped),
		cmocka_unit_test(test_malformed_messages),
		cmocka_unit_test(test_bad_prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
