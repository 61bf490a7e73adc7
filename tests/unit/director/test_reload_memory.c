/* SPDX-License-Identifier: BSD-3-Clause */
/* A reload for which there is no memory: each of its allocations fails in turn, and the table in use stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "director/reload/reload.h"
#include "table/file/table_file.h"
#include "table/file/table_load.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define CAN_FAIL false
#else
#define CAN_FAIL true

/* Allocations of all threads until one fails. Negative: none fails. */
static atomic_long left = -1;
static bool forever; /* after one, all others fail, too */

static bool is_failing(void)
{
	long now = atomic_load(&left);

	if (now < 0)
		return false;
	if (now > 0)
		atomic_fetch_sub(&left, 1);
	else if (!forever)
		atomic_store(&left, -2);
	return now == 0;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
	return is_failing() ? (errno = ENOMEM, NULL) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_failing() ? (errno = ENOMEM, NULL) : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return is_failing() ? (errno = ENOMEM, NULL) : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return is_failing() ? (errno = ENOMEM, NULL) : __libc_memalign(alignment, size);
}
#endif

/* Addresses that are longer than jansson's first buffer for a string, which must not lose a digit. */
#define TABLE(more)                                                                                \
	"{\"tables\": [{\"name\": \"web\", \"hash_key\": \"5d41402abc4b2a76b9719d911017c592\", "   \
	"\"seed\": \"7d793037a0760186574b0282f2f435e7\", " more                                    \
	"\"binds\": [{\"ip\": \"10.10.10.10/32\", \"proto\": \"tcp\", \"port\": 80}], "            \
	"\"backends\": [{\"ip\": \"192.168.150.110\", \"state\": \"active\", \"healthy\": true}, " \
	"{\"ip\": \"192.168.150.111\", \"state\": \"active\", \"healthy\": true}]}]}"

static char path[] = "/tmp/test_reload_memory.XXXXXX";

static void write_file(const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void write_text(const char *text)
{
	write_file(text, strlen(text));
}

static void write_binary(const char *text)
{
	struct faults faults = {0};
	struct table_set set;
	uint8_t *bytes;
	size_t size;

	write_text(text);
	assert_int_equal(table_load(path, &set, NULL, &faults), 0);
	assert_int_equal(table_file_encode(&set, TABLE_FILE_V3, &bytes, &size, &faults), 0);
	write_file(bytes, size);
	free(bytes);
	table_set_free(&set);
}

static void begin(struct reload *reload, struct worker_shared *shared)
{
	static const struct conf conf = {.outbound_src_ip = 0x0100000a};
	struct live_table *live = calloc(1, sizeof(*live));
	struct faults faults = {0};
	struct table_set set;

	write_text(TABLE(""));
	assert_int_equal(table_load(path, &set, NULL, &faults), 0);
	live->routes = routes_create(&set, &faults);
	live->generation = 1;
	*shared = (struct worker_shared){.live = live};
	*reload = (struct reload){.path = path, .shared = shared, .conf = &conf, .max_shrink = 50};
	pthread_mutex_init(&reload->lock, NULL);
	assert_int_equal(reload_count_backends(reload, 2), 0);
}

static void free_live(struct live_table *live)
{
	routes_free(live->routes);
	table_counts_free(&live->counts);
	free(live);
}

/* Loads the file, while allocation number `n` fails. Sets *failed to false if there are fewer. */
static struct live_table *load(struct reload *reload, long n, bool *failed)
{
	struct live_table *live;

#if CAN_FAIL
	atomic_store(&left, n);
	live = reload_load(reload, false);
	*failed = atomic_exchange(&left, -1) <= 0;
#else
	live = reload_load(reload, false);
	*failed = false;
	(void)n;
#endif
	return live;
}

/* Fails each allocation of a reload in turn. A table is loaded completely, or not at all, and the message says why. */
static void fail_each(struct reload *reload)
{
	const struct live_table *old = reload->shared->live;
	uint64_t digest, refused = 0;
	struct live_table *live;
	bool failed = true;

	live = load(reload, -1, &failed);
	assert_non_null(live);
	digest = live->routes->digest;
	free_live(live);
	failed = true;
	for (long n = 0; failed; n++) {
		live = load(reload, n, &failed);
		assert_ptr_equal(reload->shared->live, old);
		if (live) {
			assert_true(live->routes->digest == digest);
			free_live(live);
			continue;
		}
		assert_int_equal(reload->failures, ++refused);
		if (!strstr(reload->last_error, "out of memory") && !strstr(reload->last_error, strerror(ENOMEM)))
			fail_msg("allocation %ld: %s", n, reload->last_error);
		assert_null(strstr(reload->last_error, "replaces"));
	}
	assert_true(!CAN_FAIL || refused > 10);
	reload->failures = 0;
}

static void test_a_reload_without_memory_keeps_the_table(void **state)
{
	static const char *const texts[] = {TABLE(""), TABLE("\"balance\": 1.25, \"hops\": 3, ")};
	struct worker_shared shared;
	struct reload reload;

	(void)state;
	begin(&reload, &shared);
	for (unsigned i = 0; i < 8; i++) {
		if (i & 2)
			write_binary(texts[i & 1]);
		else
			write_text(texts[i & 1]);
#if CAN_FAIL
		forever = i & 4;
#endif
		fail_each(&reload);
	}
	free_live(shared.live);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reload_without_memory_keeps_the_table),
	};
	int fd = mkstemp(path);

	if (fd < 0 || close(fd))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
