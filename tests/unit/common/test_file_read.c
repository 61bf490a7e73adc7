/* SPDX-License-Identifier: BSD-3-Clause */
/* Files are read completely or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/file/file.h"
#include "tests/unit/common/file_folder.h"

static void assert_unreadable(const char *path, size_t max, int error, const char *expected)
{
	struct faults faults = {.file = path};
	char *text = (char *)path;
	size_t size;

	assert_int_equal(file_read(path, "a note", max, &text, &size, &faults), error);
	assert_null(text);
	assert_fault(&faults, false, expected);
	assert_int_equal(faults.count, 1);
	faults_clear(&faults);
}

static void test_a_nul_follows_the_text_of_a_file(void **state)
{
	static const char *const texts[] = {"", "hello", "hello, hello"};
	struct faults faults = {.file = "file"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *text;
		size_t size;

		replace("file", texts[i]);
		assert_int_equal(file_read("file", "a note", 12, &text, &size, &faults), 0);
		assert_no_fault(&faults);
		assert_int_equal(size, strlen(texts[i]));
		assert_string_equal(text, texts[i]);
		free(text);
	}
	unlink("file");
}

static void test_a_file_over_the_maximum_is_not_read(void **state)
{
	(void)state;
	replace("file", "hello");
	assert_unreadable("file", 4, -EFBIG, "file: has 5 bytes; a note has at most 4");
	unlink("file");
}

static void test_only_regular_files_are_read(void **state)
{
	(void)state;
	assert_unreadable("none", 9, -ENOENT, "none: cannot be opened: No such file or directory");
	assert_unreadable(".", 9, -EISDIR, ".: is a directory; expected a regular file");
	assert_unreadable("/dev/null", 9, -EINVAL, "/dev/null: is a device; expected a regular file");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_unreadable("fifo", 9, -EINVAL, "fifo: is a FIFO; expected a regular file");
	unlink("fifo");
}

/* Files in /proc report a size of 0. */
static const char *changed_by_others;

/* Takes the place of the C library's function. Another process writes to the file in place after the first piece is read. */
ssize_t read(int fd, void *bytes, size_t size)
{
	ssize_t got = syscall(SYS_read, fd, bytes, size);

	if (changed_by_others && got > 0) {
		int other = open(changed_by_others, O_WRONLY);
		const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};

		assert_int_equal(pwrite(other, "NEW", 3, 0), 3);
		assert_int_equal(futimens(other, times), 0); /* the clock of the file system may not have ticked */
		close(other);
		changed_by_others = NULL;
	}
	return got;
}

/* What glibc calls instead of read() with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room)
{
	assert_true(size <= room);
	return read(fd, bytes, size);
}

/* The size stays the same, as it does if a table of version 2 is written in place. */
static void test_a_file_that_is_written_in_place_is_not_read(void **state)
{
	struct faults faults = {.file = "file"};
	char *text;
	size_t size;

	(void)state;
	replace("file", "old and old");
	changed_by_others = "file";
	assert_int_equal(file_read("file", "a table", 100, &text, &size, &faults), -EAGAIN);
	assert_null(text);
	assert_fault(&faults, false,
		"file: changed while it was being read; to change it safely, write another file and rename it");
	faults_clear(&faults);
	assert_int_equal(file_read("file", "a table", 100, &text, &size, &faults), 0);
	assert_string_equal(text, "NEW and old");
	free(text);
	unlink("file");
}

static void test_a_file_that_grows_is_not_read(void **state)
{
	(void)state;
	assert_unreadable("/proc/version", 4096, -EAGAIN,
		"/proc/version: changed while it was being read; to change it safely, write another file and rename it");
}

static void test_the_start_of_a_file_is_read_without_waiting(void **state)
{
	char head[4];
	size_t size;

	(void)state;
	replace("file", "abcdef");
	assert_int_equal(file_read_head("file", head, sizeof(head), &size), 0);
	assert_int_equal(size, 4);
	assert_memory_equal(head, "abcd", 4);
	replace("file", "ab");
	assert_int_equal(file_read_head("file", head, sizeof(head), &size), 0);
	assert_int_equal(size, 2);
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(file_read_head("file", head, sizeof(head), &size), -ENOENT);
	assert_int_equal(size, 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(file_read_head("fifo", head, sizeof(head), &size), -ESPIPE);
	assert_int_equal(size, 0);
	assert_int_equal(unlink("fifo"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_nul_follows_the_text_of_a_file),
		cmocka_unit_test(test_a_file_over_the_maximum_is_not_read),
		cmocka_unit_test(test_only_regular_files_are_read),
		cmocka_unit_test(test_a_file_that_is_written_in_place_is_not_read),
		cmocka_unit_test(test_a_file_that_grows_is_not_read),
		cmocka_unit_test(test_the_start_of_a_file_is_read_without_waiting),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
