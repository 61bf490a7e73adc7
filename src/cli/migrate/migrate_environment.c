/* SPDX-License-Identifier: BSD-3-Clause */
/* /etc/default/glb-director. Only words of GLB_DIRECTOR_EAL_ARGS change; the rest is copied byte for byte. */
#include <ctype.h>
#include <string.h>

#include "cli/migrate/migrate.h"

#define EAL_ARGS "GLB_DIRECTOR_EAL_ARGS"
#define XDP      "GLB_DIRECTOR_XDP_"

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

static bool matches(const struct migration *migration)
{
	if (migration->root || memchr(migration->text, '\0', migration->size))
		return false;
	for (const char *line = migration->text; line; line = strchr(line, '\n'), line += line != NULL)
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

static void convert(struct migration *migration)
{
	bool continued = false, xdp = false;
	size_t size;

	for (const char *line = migration->text; *line; line += size) {
		bool continued_before = continued, arguments = continued || sets(line, EAL_ARGS "=");

		size = strcspn(line, "\n");
		continued = arguments && size && line[size - 1] == '\\';
		size += line[size] == '\n';
		if (arguments)
			put_arguments(migration, line, size, continued_before ? line : first_word(line));
		else
			fwrite(line, 1, size, migration->to);
		xdp |= sets(line, XDP);
	}
	if (strstr(migration->text, EAL_ARGS))
		faults_warn(&migration->notes, EAL_ARGS,
			"bind the ports to vfio-pci instead of igb_uio, which DPDK no longer has");
	if (xdp)
		faults_warn(&migration->notes, XDP "...",
			"is not used, because there is no glb-director-xdp: glb-director runs on AF_XDP, too (flow bifurcation, 3f)");
}

/* Any text is valid. */
static void check(const char *text, size_t size, struct faults *faults)
{
	(void)text;
	(void)size;
	(void)faults;
}

const struct migrate_kind migrate_environment = {"environment file", matches, convert, check};
