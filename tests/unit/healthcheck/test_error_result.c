/* SPDX-License-Identifier: BSD-3-Clause */
#include <curl/curl.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "healthcheck/checks/error_result.h"

/* The largest errno of Linux. */
#define ERRNO_MAX 133

static unsigned count_errnos(enum check_result result)
{
	unsigned count = 0;

	for (int error = 1; error <= ERRNO_MAX; error++)
		count += error_result_errno(error) == result;
	return count;
}

static void test_no_errno_passes(void **state)
{
	(void)state;
	assert_int_equal(count_errnos(CHECK_PASSED), 0);
}

/* Those of icmp(7), of the kernel's ICMP tables and of tcp(7). */
static void test_what_the_network_reports_is_a_failure_of_the_proxy(void **state)
{
	static const int errors[] = {ECONNREFUSED, ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN,
		ENETDOWN, ENONET, ENOPROTOOPT, EOPNOTSUPP, EMSGSIZE, EPROTO, EACCES, EREMOTEIO, EIO, ENETRESET,
		ESHUTDOWN};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		assert_int_not_equal(error_result_errno(errors[i]), CHECK_NOT_RUN);
}

static void test_only_limits_and_mistakes_of_this_host_are_not_run(void **state)
{
	(void)state;
	assert_int_equal(error_result_errno(EMFILE), CHECK_NOT_RUN);
	assert_int_equal(error_result_errno(ENOBUFS), CHECK_NOT_RUN);
	assert_int_equal(error_result_errno(EADDRNOTAVAIL), CHECK_NOT_RUN);
	assert_int_equal(count_errnos(CHECK_NOT_RUN), 18);
}

static void test_every_curl_error_before_the_request(void **state)
{
	unsigned local = 0;

	(void)state;
	assert_int_equal(error_result_curl(CURLE_OK, false), CHECK_PASSED);
	for (int code = 1; code < CURL_LAST + 10; code++) {
		assert_int_not_equal(error_result_curl(code, false), CHECK_PASSED);
		local += error_result_curl(code, false) == CHECK_NOT_RUN;
	}
	assert_int_equal(local, 19);
}

static void test_no_curl_error_is_local_after_the_request(void **state)
{
	(void)state;
	for (int code = 1; code < CURL_LAST + 10; code++) {
		assert_int_not_equal(error_result_curl(code, true), CHECK_NOT_RUN);
		assert_int_not_equal(error_result_curl(code, true), CHECK_PASSED);
	}
	assert_int_equal(error_result_curl(CURLE_OUT_OF_MEMORY, true), CHECK_BAD_REPLY);
	assert_int_equal(error_result_curl(CURLE_UNSUPPORTED_PROTOCOL, true), CHECK_BAD_REPLY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_errno_passes),
		cmocka_unit_test(test_what_the_network_reports_is_a_failure_of_the_proxy),
		cmocka_unit_test(test_only_limits_and_mistakes_of_this_host_are_not_run),
		cmocka_unit_test(test_every_curl_error_before_the_request),
		cmocka_unit_test(test_no_curl_error_is_local_after_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
