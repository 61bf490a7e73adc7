/* SPDX-License-Identifier: BSD-3-Clause */
/* /etc/default/glb-director. Words of GLB_DIRECTOR_EAL_ARGS change, and variables that do not exist here become
 * comments. The rest is copied byte for byte. */
#include <ctype.h>
#include <string.h>

#include "cli/check/check_environment.h"
#include "cli/migrate/migrate.h"

#define EAL_ARGS "GLB_DIRECTOR_EAL_ARGS"

/* EAL's options of DPDK 20.11 and later, in which the old ones no longer exist. */
static const struct {
	const char *old, *now;
} renamed[] = {
	{"--master-lcore", "--main-lcore"},
	{"--pci-whitelist", "--allow"},
	{"--pci-blacklist", "--block"},
	{"-w", "-a"},
};

static const char *skip_spaces(const char *at)
{
	return at + strspn(at, " \t");
}

/* Returns true if the line sets a variable whose name begins with `prefix`. */
static bool sets(const char *line, const char *prefix)
{
	return strncmp(skip_spaces(line), prefix, strlen(prefix)) == 0;
}

/* systemd permits spaces around the equals sign. */
static bool sets_variable(const char *line, const char *name)
{
	return sets(line, name) && *skip_spaces(skip_spaces(line) + strlen(name)) == '=';
}

static bool matches(const struct migration *migration)
{
	if (migration->root || memchr(migration->text, '\0', migration->size))
		return false;
	for (const char *line = migration->text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (sets(line, "GLB_DIRECTOR_"))
			return true;
	return false;
}

/* Returns the new name of the option at `at`, and its old length; NULL: it has none. */
static const char *renamed_to(const char *at, size_t *length)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		const char *old = renamed[i].old;

		*length = strlen(old);
		/* A short option may be followed by its value without a space. */
		if (strncmp(at, old, *length) == 0 &&
			(strchr(" \t\n=\"'\\", at[*length]) || (old[1] != '-' && isxdigit((unsigned char)at[*length]))))
			return renamed[i].now;
	}
	return NULL;
}

/* Copies a line with the new names of EAL's options. `words` is the place in it where the first argument begins. */
static void put_arguments(struct migration *migration, const char *line, size_t size, const char *words)
{
	for (const char *at = line; at < line + size;) {
		size_t length;
		const char *now = NULL;

		if (at == words || (at > words && strchr(" \t", at[-1])))
			now = renamed_to(at, &length);
		if (!now) {
			fputc(*at++, migration->to);
			continue;
		}
		fputs(now, migration->to);
		faults_warn(&migration->notes, EAL_ARGS, "%.*s is written as %s, its name since DPDK 20.11",
			(int)length, at, now);
		at += length;
	}
}

/* Returns the place where the arguments begin in a line that sets the variable. */
static const char *first_word(const char *line)
{
	const char *value = strchr(line, '=') + 1;

	return value + strspn(value, "\"' \t");
}

/* Returns true if the line sets a variable of GLB that no program reads here. */
static bool is_gone(const char *line)
{
	return sets(line, "GLB_") && !sets_variable(line, EAL_ARGS) &&
	       !sets_variable(line, "GLB_DIRECTOR_CONFIG_FILE") && !sets_variable(line, "GLB_DIRECTOR_FORWARDING_TABLE");
}

static void note_gone(struct migration *migration, const char *line)
{
	const char *name = skip_spaces(line);

	faults_warn(&migration->notes, NULL, "%.*s is written as a comment: no program reads it here%s",
		(int)strcspn(name, "= \t\n"), name,
		sets(line, "GLB_DIRECTOR_XDP_") ? "; glb-director runs on AF_XDP, too (flow bifurcation, 3f)" : "");
}

static void convert(struct migration *migration)
{
	bool continued = false, arguments = false, gone = false;
	size_t size;

	for (const char *line = migration->text; *line; line += size) {
		size = strcspn(line, "\n");
		if (!continued) {
			arguments = sets_variable(line, EAL_ARGS);
			gone = is_gone(line);
			if (gone)
				note_gone(migration, line);
		}
		if (gone) /* also lines that continue it: a comment is not continued in new versions of systemd */
			fputc('#', migration->to);
		if (arguments)
			put_arguments(migration, line, size, continued ? line : first_word(line));
		else
			fwrite(line, 1, size, migration->to);
		continued = size && line[size - 1] == '\\';
		if (line[size] == '\n')
			fputc(line[size++], migration->to);
	}
	if (strstr(migration->text, EAL_ARGS))
		faults_warn(&migration->notes, EAL_ARGS,
			"bind the ports to vfio-pci instead of igb_uio, which DPDK no longer has");
}

/* Leaves out warnings about files that do not exist, because the result may be for another host. */
static void read_result(const char *path, struct faults *faults)
{
	check_environment(path, faults);
	if (faults->errors == 0)
		faults_clear(faults);
}

const struct migrate_kind migrate_environment = {"environment file", matches, convert, read_result, false};
