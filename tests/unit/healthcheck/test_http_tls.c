/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/ssl.h>

#include "healthcheck/checks/http/http_tls.h"

static SSL_CTX *make_context(const SSL_METHOD *method)
{
	SSL_CTX *context = SSL_CTX_new(method);

	assert_non_null(context);
	return context;
}

/* Frees both. */
static bool is_shared(SSL_CTX *a, SSL_CTX *b)
{
	bool same = a == b;

	SSL_CTX_free(a);
	SSL_CTX_free(b);
	return same;
}

static void test_connections_of_a_thread_share_a_context(void **state)
{
	(void)state;
	http_tls_begin_thread();
	for (int i = 0; i < 3; i++)
		assert_true(is_shared(make_context(TLS_client_method()), make_context(TLS_client_method())));
	http_tls_end_thread();
}

static void test_servers_get_their_own_context(void **state)
{
	(void)state;
	http_tls_begin_thread();
	assert_false(is_shared(make_context(TLS_client_method()), make_context(TLS_server_method())));
	http_tls_end_thread();
}

static void test_other_threads_get_their_own_context(void **state)
{
	(void)state;
	assert_false(is_shared(make_context(TLS_client_method()), make_context(TLS_client_method())));
}

static void test_context_of_an_ended_thread_is_not_used_again(void **state)
{
	SSL_CTX *old;

	(void)state;
	http_tls_begin_thread();
	old = make_context(TLS_client_method());
	http_tls_end_thread();
	http_tls_begin_thread();
	assert_false(is_shared(old, make_context(TLS_client_method())));
	http_tls_end_thread();
	http_tls_end_thread();
}

static void test_context_refuses_renegotiation(void **state)
{
	SSL_CTX *context;

	(void)state;
	http_tls_begin_thread();
	context = make_context(TLS_client_method());
	assert_true(SSL_CTX_get_options(context) & SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_free(context);
	http_tls_end_thread();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections_of_a_thread_share_a_context),
		cmocka_unit_test(test_servers_get_their_own_context),
		cmocka_unit_test(test_other_threads_get_their_own_context),
		cmocka_unit_test(test_context_of_an_ended_thread_is_not_used_again),
		cmocka_unit_test(test_context_refuses_renegotiation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
