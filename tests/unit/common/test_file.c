/* SPDX-License-Identifier: BSD-3-Clause */
/* Files are read and replaced completely or not at all, and no temporary file stays. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/file/file.h"
#include "tests/unit/table_helpers.h"

static char folder[] = "/tmp/test_file.XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	umask(022);
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void assert_holds(const char *path, const char *text, unsigned mode)
{
	char buf[64] = "";
	struct stat info;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(text));
	assert_string_equal(buf, text);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_mode & 07777, mode);
	close(fd);
}

static void replace(const char *path, const char *text)
{
	struct faults faults = {.file = path};

	assert_int_equal(file_replace(path, NULL, text, strlen(text), &faults), 0);
	assert_no_fault(&faults);
}

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

static void test_new_file_has_the_mode_that_the_umask_allows(void **state)
{
	(void)state;
	replace("new", "hello");
	assert_holds("new", "hello", 0644);
	assert_int_equal(count_entries("."), 1);
	unlink("new");
	umask(077);
	replace("new", "hello");
	assert_holds("new", "hello", 0600);
	assert_int_equal(umask(022), 077);
	unlink("new");
}

static void test_new_file_is_as_secret_as_its_source(void **state)
{
	static const mode_t modes[][2] = {{0644, 0644}, {0640, 0640}, {0600, 0600}, {0400, 0600}, {0666, 0644}};
	struct faults faults = {.file = "new"};

	(void)state;
	replace("source", "key");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod("source", modes[i][0]), 0);
		assert_int_equal(file_replace("new", "source", "hello", 5, &faults), 0);
		assert_no_fault(&faults);
		assert_holds("new", "hello", modes[i][1]);
		unlink("new");
	}
	unlink("source");
	assert_int_equal(file_replace("new", "source", "hello", 5, &faults), 0);
	assert_holds("new", "hello", 0644);
	unlink("new");
}

static void test_mode_of_an_existing_file_is_kept(void **state)
{
	(void)state;
	replace("file", "one");
	chmod("file", 0640);
	replace("file", "twotwo");
	assert_holds("file", "twotwo", 0640);
	replace("./file", "");
	assert_holds("file", "", 0640);
	assert_int_equal(count_entries("."), 1);
	unlink("file");
}

static void test_owner_of_an_existing_file_is_kept(void **state)
{
	struct stat info;

	(void)state;
	if (geteuid() != 0) {
		print_message("only root can give files away\n");
		return;
	}
	replace("file", "one");
	assert_int_equal(chown("file", 1234, 4321), 0);
	replace("file", "two");
	assert_int_equal(stat("file", &info), 0);
	assert_int_equal(info.st_uid, 1234);
	assert_int_equal(info.st_gid, 4321);
	unlink("file");
}

#define ACL_NAME "system.posix_acl_access"

/* user::rw- user:1234:r-- group::--- mask::r-- other::---, as the kernel stores it */
static const uint8_t acl[] = {2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 0xd2, 4, 0, 0, 4, 0, 0, 0, 255,
	255, 255, 255, 16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255};

static void assert_acl(const char *path)
{
	uint8_t found[256];

	assert_int_equal(getxattr(path, ACL_NAME, found, sizeof(found)), sizeof(acl));
	assert_memory_equal(found, acl, sizeof(acl));
}

static void test_acl_of_an_existing_file_is_kept(void **state)
{
	(void)state;
	replace("file", "one");
	if (setxattr("file", ACL_NAME, acl, sizeof(acl), 0) < 0) {
		assert_int_equal(errno, EOPNOTSUPP);
		print_message("this file system has no ACLs\n");
		unlink("file");
		return;
	}
	replace("file", "two");
	assert_acl("file");
	assert_holds("file", "two", 0640);
	unlink("file");
}

/* The folder's default ACL would give the new file more readers than the old one had. */
static void test_default_acl_of_the_folder_is_not_inherited(void **state)
{
	struct faults faults = {.file = "file"};

	(void)state;
	replace("file", "one");
	chmod("file", 0640);
	if (setxattr(".", "system.posix_acl_default", acl, sizeof(acl), 0) < 0) {
		assert_int_equal(errno, EOPNOTSUPP);
		print_message("this file system has no ACLs\n");
		unlink("file");
		return;
	}
	replace("file", "two");
	assert_holds("file", "two", 0640);
	assert_int_equal(getxattr("file", ACL_NAME, NULL, 0), -1);
	assert_int_equal(file_replace_like("copy", "file", "two", 3, &faults), 0);
	assert_int_equal(getxattr("copy", ACL_NAME, NULL, 0), -1);
	assert_int_equal(removexattr(".", "system.posix_acl_default"), 0);
	unlink("copy");
	unlink("file");
}

static void test_file_gets_mode_and_acl_of_its_model(void **state)
{
	struct faults faults = {.file = "copy"};
	bool has_acl;

	(void)state;
	replace("file", "one");
	replace("copy", "older");
	chmod("file", 0440);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(file_replace_like("copy", "file", "two", 3, &faults), 0);
		assert_holds("copy", "two", 0440);
		unlink("copy");
	}
	has_acl = setxattr("file", ACL_NAME, acl, sizeof(acl), 0) == 0;
	assert_int_equal(file_replace_like("copy", "file", "two", 3, &faults), 0);
	if (has_acl)
		assert_acl("copy");
	assert_no_fault(&faults);
	unlink("file");
	assert_int_equal(file_replace_like("copy", "file", "new", 3, &faults), -ENOENT);
	assert_fault(&faults, false,
		"copy: the mode of the new file is unknown: No such file or directory; the file is unchanged");
	faults_clear(&faults);
	assert_int_equal(count_entries("."), 1);
	unlink("copy");
}

/* The mask of an ACL is in the group bits of the mode. Only the named user of `source` may read it, not its group. */
static void test_new_file_gives_the_group_no_rights_from_the_mask_of_its_source(void **state)
{
	struct faults faults = {.file = "new"};

	(void)state;
	replace("source", "key");
	if (setxattr("source", ACL_NAME, acl, sizeof(acl), 0) == 0) {
		assert_int_equal(file_replace("new", "source", "hello", 5, &faults), 0);
		assert_holds("new", "hello", 0600);
		unlink("new");
	}
	unlink("source");
}

static void test_user_attributes_of_an_existing_file_are_kept(void **state)
{
	char found[16];

	(void)state;
	replace("file", "one");
	if (setxattr("file", "user.note", "why", 3, 0) == 0 && setxattr("file", "user.empty", "", 0, 0) == 0) {
		chmod("file", 0440);
		replace("file", "two");
		assert_int_equal(getxattr("file", "user.note", found, sizeof(found)), 3);
		assert_memory_equal(found, "why", 3);
		assert_int_equal(getxattr("file", "user.empty", found, sizeof(found)), 0);
		assert_holds("file", "two", 0440);
	}
	unlink("file");
}

static int mode_changes;

/* Takes the place of the C library's function. */
int fchmod(int fd, mode_t mode)
{
	mode_changes++;
	return (int)syscall(SYS_fchmod, fd, mode);
}

/* fchmod() with the mask of the ACL would open the file to its group until the ACL is set. */
static void test_mode_and_acl_of_a_file_are_set_in_one_step(void **state)
{
	(void)state;
	replace("file", "one");
	if (setxattr("file", ACL_NAME, acl, sizeof(acl), 0) == 0) {
		mode_changes = 0;
		replace("file", "two");
		assert_int_equal(mode_changes, 0);
		assert_acl("file");
	}
	unlink("file");
}

static int replace_as_nobody(void)
{
	struct faults faults = {.file = "file"};

	if (setgid(65534) != 0 || setuid(65534) != 0)
		return 2;
	return file_replace("file", NULL, "two", 3, &faults) != 0;
}

static void replace_in_a_child(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(replace_as_nobody());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The owner of the folder may replace root's file by a file that he owns. Root's group had rights that his has not. */
static void test_owner_is_not_kept_if_that_is_not_permitted(void **state)
{
	static const mode_t modes[][2] = {{0644, 0644}, {0640, 0600}, {0664, 0644}, {0604, 0604}};
	uint8_t wider[sizeof(acl)];
	struct stat info;

	(void)state;
	if (geteuid() != 0) {
		print_message("only root can become somebody else\n");
		return;
	}
	assert_int_equal(chown(".", 65534, 65534), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		replace("file", "one");
		chmod("file", modes[i][0]);
		replace_in_a_child();
		assert_int_equal(stat("file", &info), 0);
		assert_int_equal(info.st_uid, 65534);
		assert_holds("file", "two", modes[i][1]);
		unlink("file");
	}
	replace("file", "one");
	memcpy(wider, acl, sizeof(acl));
	wider[22] = 4; /* group::r-- */
	if (setxattr("file", ACL_NAME, wider, sizeof(wider), 0) == 0) {
		replace_in_a_child();
		assert_acl("file");
	}
	unlink("file");
	assert_int_equal(chown(".", 0, 0), 0);
}

/* A member of the file's group can keep the group, and so its rights. */
static void test_group_of_a_file_is_kept_by_its_members(void **state)
{
	struct stat info;

	(void)state;
	if (geteuid() != 0) {
		print_message("only root can become somebody else\n");
		return;
	}
	assert_int_equal(chown(".", 65534, 65534), 0);
	replace("file", "one");
	chmod("file", 0640);
	assert_int_equal(chown("file", 0, 4321), 0);
	assert_int_equal(setgroups(1, (const gid_t[]){4321}), 0);
	replace_in_a_child();
	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(stat("file", &info), 0);
	assert_int_equal(info.st_uid, 65534);
	assert_int_equal(info.st_gid, 4321);
	assert_holds("file", "two", 0640);
	assert_int_equal(chown(".", 0, 0), 0);
	unlink("file");
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

/* A writer that still runs has locked its temporary file. A killed one has not. */
static void test_leftovers_of_killed_writers_are_removed(void **state)
{
	static const char *const names[] = {".glb-killed", ".glb-atwork", ".glb-longer1", "glb-killed"};
	int fds[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		fds[i] = open(names[i], O_CREAT | O_WRONLY, 0600);
		assert_true(fds[i] >= 0);
	}
	assert_int_equal(symlink("glb-killed", ".glb-asalnk"), 0);
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
	unlink(".glb-asalnk");
	unlink("file");
}

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
		cmocka_unit_test(test_new_file_has_the_mode_that_the_umask_allows),
		cmocka_unit_test(test_new_file_is_as_secret_as_its_source),
		cmocka_unit_test(test_mode_of_an_existing_file_is_kept),
		cmocka_unit_test(test_owner_of_an_existing_file_is_kept),
		cmocka_unit_test(test_acl_of_an_existing_file_is_kept),
		cmocka_unit_test(test_default_acl_of_the_folder_is_not_inherited),
		cmocka_unit_test(test_file_gets_mode_and_acl_of_its_model),
		cmocka_unit_test(test_new_file_gives_the_group_no_rights_from_the_mask_of_its_source),
		cmocka_unit_test(test_user_attributes_of_an_existing_file_are_kept),
		cmocka_unit_test(test_mode_and_acl_of_a_file_are_set_in_one_step),
		cmocka_unit_test(test_owner_is_not_kept_if_that_is_not_permitted),
		cmocka_unit_test(test_group_of_a_file_is_kept_by_its_members),
		cmocka_unit_test(test_readers_of_the_old_file_are_not_disturbed),
		cmocka_unit_test(test_a_symbolic_link_stays_and_its_target_is_replaced),
		cmocka_unit_test(test_a_loop_of_links_and_a_link_into_a_missing_folder_are_refused),
		cmocka_unit_test(test_only_regular_files_are_replaced),
		cmocka_unit_test(test_a_missing_folder_is_named),
		cmocka_unit_test(test_an_unwritable_folder_is_named),
		cmocka_unit_test(test_a_write_that_fails_half_way_changes_nothing),
		cmocka_unit_test(test_leftovers_of_killed_writers_are_removed),
		cmocka_unit_test(test_a_nul_follows_the_text_of_a_file),
		cmocka_unit_test(test_a_file_over_the_maximum_is_not_read),
		cmocka_unit_test(test_only_regular_files_are_read),
		cmocka_unit_test(test_a_file_that_is_written_in_place_is_not_read),
		cmocka_unit_test(test_a_file_that_grows_is_not_read),
		cmocka_unit_test(test_the_start_of_a_file_is_read_without_waiting),
		cmocka_unit_test(test_two_paths_of_a_file_are_the_same),
		cmocka_unit_test(test_two_paths_of_a_missing_file_are_the_same),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
