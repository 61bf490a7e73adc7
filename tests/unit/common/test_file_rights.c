/* SPDX-License-Identifier: BSD-3-Clause */
/* New and replaced files have the rights, owner and attributes that they should have. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/file/file.h"
#include "tests/unit/common/file_folder.h"

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
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
