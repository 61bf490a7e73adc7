/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/ssl.h>

#include "healthcheck/checks/http/http_tls.h"

static SSL_CTX *make_context(bool lent, const SSL_METHOD *method)
{
	SSL_CTX *context;

	http_tls_lend(lent);
	context = SSL_CTX_new(method);
	http_tls_lend(false);
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

static void test_connections_share_a_context(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(is_shared(make_context(true, TLS_client_method()), make_context(true, TLS_client_method())));
	http_tls_forget();
}

static void test_other_users_of_openssl_get_their_own_context(void **state)
{
	(void)state;
	assert_false(is_shared(make_context(true, TLS_client_method()), make_context(false, TLS_client_method())));
	assert_false(is_shared(make_context(false, TLS_client_method()), make_context(false, TLS_client_method())));
	assert_false(is_shared(make_context(true, TLS_client_method()), make_context(true, TLS_server_method())));
	http_tls_forget();
}

static void test_forgotten_context_is_not_lent_again(void **state)
{
	SSL_CTX *old = make_context(true, TLS_client_method());

	(void)state;
	http_tls_forget();
	assert_false(is_shared(old, make_context(true, TLS_client_method())));
	http_tls_forget();
	http_tls_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections_share_a_context),
		cmocka_unit_test(test_other_users_of_openssl_get_their_own_context),
		cmocka_unit_test(test_forgotten_context_is_not_lent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
