/* SPDX-License-Identifier: BSD-3-Clause */
/* Files are replaced completely or not at all, and no temporary file stays. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/file/file.h"
#include "tests/unit/common/file_folder.h"

static void assert_fails(const char *path, size_t size, int expected, const char *text)
{
	struct faults faults = {.file = path};
	uint8_t *bytes = calloc(1, size + 1);

	assert_int_equal(file_replace(path, NULL, bytes, size, &faults), expected);
	assert_fault(&faults, false, text);
	assert_int_equal(faults.count, 1);
	faults_clear(&faults);
	free(bytes);
}

/* A process that has the old file open continues to read the old bytes. */
static void test_readers_of_the_old_file_are_not_disturbed(void **state)
{
	char buf[16] = "";
	int fd;

	(void)state;
	replace("file", "old");
	fd = open("file", O_RDONLY);
	replace("file", "newer");
	assert_int_equal(read(fd, buf, sizeof(buf)), 3);
	assert_string_equal(buf, "old");
	close(fd);
	unlink("file");
}

static void assert_link(const char *path)
{
	struct stat info;

	assert_int_equal(lstat(path, &info), 0);
	assert_true(S_ISLNK(info.st_mode));
}

static void test_a_symbolic_link_stays_and_its_target_is_replaced(void **state)
{
	(void)state;
	assert_int_equal(mkdir("dir", 0755), 0);
	replace("dir/target", "old");
	assert_int_equal(symlink("target", "dir/link"), 0);
	assert_int_equal(symlink("dir/link", "chain"), 0);
	replace("chain", "new");
	assert_link("chain");
	assert_link("dir/link");
	assert_holds("dir/target", "new", 0644);
	unlink("dir/target");
	replace("chain", "created"); /* the chain has no file at its end */
	assert_link("dir/link");
	assert_holds("dir/target", "created", 0644);
	unlink("chain");
	unlink("dir/link");
	unlink("dir/target");
	rmdir("dir");
}

static void test_a_loop_of_links_and_a_link_into_a_missing_folder_are_refused(void **state)
{
	(void)state;
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_fails("loop", 1, -ELOOP,
		"loop: cannot be replaced: Too many levels of symbolic links; the file is unchanged");
	unlink("loop");
	assert_int_equal(symlink("none/file", "away"), 0);
	assert_fails("away", 1, -ENOENT, "away: cannot be created: there is no folder './none'");
	assert_link("away");
	unlink("away");
}

static void test_a_file_that_another_program_has_changed_stays(void **state)
{
	struct faults faults = {.file = "file"};
	struct stat known;

	(void)state;
	file_look("file", &known); /* there is none */
	replace("file", "first");
	assert_int_equal(file_replace_known("file", &known, "new", 3, &faults), -ESTALE);
	assert_fault(&faults, false, "file: another program has changed the file since it was read");
	file_look("file", &known);
	replace("file", "other");
	assert_int_equal(file_replace_known("file", &known, "new", 3, &faults), -ESTALE);
	file_look("file", &known);
	unlink("file");
	assert_int_equal(file_replace_known("file", &known, "new", 3, &faults), -ESTALE);
	assert_int_equal(access("file", F_OK), -1);
	replace("file", "other");
	file_look("file", &known);
	assert_int_equal(file_replace_known("file", &known, "new", 3, &faults), 0);
	assert_holds("file", "new", 0644);
	assert_int_equal(count_entries("."), 1);
	unlink("file");
	faults_clear(&faults);
}

static void test_only_regular_files_are_replaced(void **state)
{
	(void)state;
	assert_int_equal(mkdir("dir", 0755), 0);
	assert_fails("dir", 1, -EISDIR, "dir: is a directory; only a regular file can be replaced");
	rmdir("dir");
	assert_int_equal(symlink("/dev/null", "null"), 0);
	assert_fails("null", 1, -EINVAL, "null: is a device; only a regular file can be replaced");
	unlink("null");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_fails("fifo", 1, -EINVAL, "fifo: is a FIFO; only a regular file can be replaced");
	unlink("fifo");
}

static void test_a_missing_folder_is_named(void **state)
{
	(void)state;
	assert_fails("none/file", 1, -ENOENT, "none/file: cannot be created: there is no folder 'none'");
	replace("file", "x");
	assert_fails("file/file", 1, -ENOTDIR, "file/file: cannot be replaced: Not a directory; the file is unchanged");
	unlink("file");
}

static void test_an_unwritable_folder_is_named(void **state)
{
	(void)state;
	assert_int_equal(mkdir("dir", 0555), 0);
	/* Root may write to any file system that is writable at all, so the test uses /proc. */
	if (geteuid() == 0)
		assert_fails("/proc/sys/file", 1, -ENOENT,
			"/proc/sys/file: a new file cannot be created in its folder: No such file or directory; the file is unchanged");
	else
		assert_fails("dir/file", 1, -EACCES,
			"dir/file: a new file cannot be created in its folder: Permission denied; the file is unchanged");
	rmdir("dir");
}

/* Simulates a full disk: the write stops half way, with EFBIG instead of ENOSPC. */
static void test_a_write_that_fails_half_way_changes_nothing(void **state)
{
	struct rlimit old, small;

	(void)state;
	replace("file", "old");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_fails(
		"file", 10000, -EFBIG, "file: the new file cannot be written: File too large; the file is unchanged");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_holds("file", "old", 0644);
	assert_int_equal(count_entries("."), 1);
	unlink("file");
}

/* A writer that still runs has locked its temporary file. A killed one has not. Files of others stay. */
static void test_leftovers_of_killed_writers_are_removed(void **state)
{
	static const char *const names[] = {
		".glb-unfinished-killed", ".glb-unfinished-atwork", ".glb-unfinished-longer1", ".glb-backup"};
	int fds[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		fds[i] = open(names[i], O_CREAT | O_WRONLY, 0600);
		assert_true(fds[i] >= 0);
	}
	assert_int_equal(symlink(".glb-backup", ".glb-unfinished-asalnk"), 0);
	assert_int_equal(flock(fds[1], LOCK_EX), 0);
	replace("file", "new");
	assert_int_equal(access(names[0], F_OK), -1);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(access(names[i], F_OK), 0);
	assert_int_equal(count_entries("."), 5);
	close(fds[1]);
	replace("file", "newer");
	assert_int_equal(access(names[1], F_OK), -1);
	for (size_t i = 0; i < 4; i++) {
		unlink(names[i]);
		if (i != 1)
			close(fds[i]);
	}
	unlink(".glb-unfinished-asalnk");
	unlink("file");
}

static void test_two_paths_of_a_file_are_the_same(void **state)
{
	(void)state;
	replace("file", "x");
	replace("other", "x");
	assert_int_equal(link("file", "hard"), 0);
	assert_int_equal(symlink("file", "soft"), 0);
	assert_true(file_is_same("file", "file"));
	assert_true(file_is_same("file", "./file"));
	assert_true(file_is_same("file", "hard"));
	assert_true(file_is_same("soft", "file"));
	assert_false(file_is_same("file", "other"));
	assert_false(file_is_same("file", "none"));
	unlink("file");
	unlink("other");
	unlink("hard");
	unlink("soft");
}

static void test_two_paths_of_a_missing_file_are_the_same(void **state)
{
	(void)state;
	assert_int_equal(mkdir("dir", 0755), 0);
	assert_int_equal(symlink("dir", "link"), 0);
	assert_true(file_is_same("dir/none", "link/none"));
	assert_true(file_is_same("none", "dir/../none"));
	assert_false(file_is_same("none", "dir/none"));
	assert_false(file_is_same("dir/none", "dir/other"));
	unlink("link");
	rmdir("dir");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers_of_the_old_file_are_not_disturbed),
		cmocka_unit_test(test_a_symbolic_link_stays_and_its_target_is_replaced),
		cmocka_unit_test(test_a_loop_of_links_and_a_link_into_a_missing_folder_are_refused),
		cmocka_unit_test(test_a_file_that_another_program_has_changed_stays),
		cmocka_unit_test(test_only_regular_files_are_replaced),
		cmocka_unit_test(test_a_missing_folder_is_named),
		cmocka_unit_test(test_an_unwritable_folder_is_named),
		cmocka_unit_test(test_a_write_that_fails_half_way_changes_nothing),
		cmocka_unit_test(test_leftovers_of_killed_writers_are_removed),
		cmocka_unit_test(test_two_paths_of_a_file_are_the_same),
		cmocka_unit_test(test_two_paths_of_a_missing_file_are_the_same),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
