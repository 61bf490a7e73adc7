/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "common/clock.h"
#include "healthcheck/checks/http/http_session.h"

#define HOUR_MS 3600000

/* A session that a full handshake of the probe before began, with the certificates' first loads. */
struct scene {
	struct http_trust trust;
	struct http_identity identity;
	struct http_tls tls;
	struct http_session session;
	CURL *handle;
};

static void use(struct scene *scene, bool failed)
{
	http_session_use(&scene->session, &scene->tls, failed, scene->handle);
	curl_easy_setopt(scene->handle, CURLOPT_SHARE, NULL);
}

static int setup(void **state)
{
	static struct scene scene;

	scene = (struct scene){.trust.loads = 1, .identity.loads = 1, .handle = curl_easy_init()};
	scene.tls = (struct http_tls){.trust = &scene.trust, .identity = &scene.identity, .verify = true, .full = true};
	scene.tls.expires_s = (int64_t)time(NULL) + HOUR_MS;
	use(&scene, false);
	assert_true(scene.session.empty);
	http_session_note(&scene.session, &scene.tls, HOUR_MS);
	scene.session.due_ms = clock_now_ms() + HOUR_MS;
	*state = &scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	curl_share_cleanup(http_session_end(&scene->session));
	curl_easy_cleanup(scene->handle);
	return 0;
}

static bool is_full(struct scene *scene, bool failed)
{
	use(scene, failed);
	return scene->session.empty;
}

static void test_session_is_kept(void **state)
{
	struct scene *scene = *state;
	CURLSH *share = scene->session.share;

	assert_non_null(share);
	for (int i = 0; i < 10; i++)
		assert_false(is_full(scene, false));
	assert_ptr_equal(scene->session.share, share);
}

static void test_failed_probe_ends_the_session(void **state)
{
	assert_true(is_full(*state, true));
	assert_false(is_full(*state, false));
}

static void test_period_ends_the_session(void **state)
{
	struct scene *scene = *state;

	scene->session.due_ms = clock_now_ms();
	assert_true(is_full(scene, false));
}

static void test_new_trust_ends_the_session(void **state)
{
	struct scene *scene = *state;

	scene->trust.loads++;
	assert_true(is_full(scene, false));
	assert_false(is_full(scene, false));
}

static void test_new_client_certificate_ends_the_session(void **state)
{
	struct scene *scene = *state;

	scene->identity.loads++;
	assert_true(is_full(scene, false));
	assert_false(is_full(scene, false));
}

static void test_expiry_of_the_certificate_ends_the_session(void **state)
{
	struct scene *scene = *state;

	scene->session.expires_s = (int64_t)time(NULL) - 1;
	assert_true(is_full(scene, false));
	scene->tls.verify = false;
	assert_false(is_full(scene, false));
}

static void test_resumed_handshake_does_not_delay_the_next_full_one(void **state)
{
	struct scene *scene = *state;
	uint64_t due = scene->session.due_ms;

	scene->tls.full = false;
	scene->tls.expires_s = 0;
	http_session_note(&scene->session, &scene->tls, HOUR_MS);
	assert_int_equal(scene->session.due_ms, due);
	assert_true(scene->session.expires_s > 0);
}

static void test_full_handshake_is_due_within_the_period(void **state)
{
	struct scene *scene = *state;
	uint64_t before = clock_now_ms(), after;

	for (int i = 0; i < 1000; i++) {
		http_session_note(&scene->session, &scene->tls, 1000);
		after = clock_now_ms();
		assert_true(scene->session.due_ms > before && scene->session.due_ms <= after + 1000);
		before = clock_now_ms();
	}
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(test_session_is_kept),
		SCENE(test_failed_probe_ends_the_session),
		SCENE(test_period_ends_the_session),
		SCENE(test_new_trust_ends_the_session),
		SCENE(test_new_client_certificate_ends_the_session),
		SCENE(test_expiry_of_the_certificate_ends_the_session),
		SCENE(test_resumed_handshake_does_not_delay_the_next_full_one),
		SCENE(test_full_handshake_is_due_within_the_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
