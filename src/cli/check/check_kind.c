/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/check/check_kind.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "bifurcate/vf/vf_conf.h"
#include "cli/check/check_environment.h"
#include "cli/check/check_healthcheck.h"
#include "common/content.h"
#include "common/file/file.h"
#include "director/conf/conf.h"
#include "fleet/fleet_conf.h"
#include "redirect/config/redirect_conf.h"

#define HEAD_MAX         65536 /* bytes of the file that tell its kind */
#define BIFURCATE_FOLDER "bifurcate.d"

static const char *const names[] = {
	[CHECK_JSON_TABLE] = "JSON table",
	[CHECK_BINARY_TABLE] = "binary table",
	[CHECK_DIRECTOR_CONF] = "director.conf",
	[CHECK_HEALTHCHECK_CONF] = "healthcheck.conf",
	[CHECK_REDIRECT_CONF] = "redirect.conf",
	[CHECK_BIFURCATE_CONF] = "bifurcate.conf",
	[CHECK_FLEET_CONF] = "fleet.conf",
	[CHECK_ENVIRONMENT] = "environment file",
};

const char *check_kind_name(enum check_kind kind)
{
	return kind == CHECK_OTHER ? "file of another kind" : names[kind];
}

static enum check_kind kind_by_name(const char *path, char first)
{
	static const struct {
		const char *pattern;
		enum check_kind kind;
	} patterns[] = {
		{"*.json", CHECK_JSON_TABLE},
		{"*.bin", CHECK_BINARY_TABLE},
		{"*healthcheck*.conf", CHECK_HEALTHCHECK_CONF},
		{"*redirect*.conf", CHECK_REDIRECT_CONF},
		{"*bifurcate*.conf", CHECK_BIFURCATE_CONF},
		{"*fleet*.conf", CHECK_FLEET_CONF},
		{"*.conf", CHECK_DIRECTOR_CONF},
		{"*.env", CHECK_ENVIRONMENT},
		{"glb-director", CHECK_ENVIRONMENT},
		{"glb-redirect*", CHECK_ENVIRONMENT},
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fnmatch(patterns[i].pattern, name, 0) == 0)
			return patterns[i].kind;
	/* A configuration starts with a key or a comment. */
	return isalpha((unsigned char)first) || first == '#' || first == '/' ? CHECK_DIRECTOR_CONF : CHECK_JSON_TABLE;
}

const char *check_kind_advice(const char *path)
{
	static const struct {
		const char *magic, *advice;
	} others[] = {
		{"\x1f\x8b\x08", "is compressed with gzip: decompress it with gunzip, and check the result"},
		{"\xfd\x37zXZ", "is compressed with xz: decompress it with unxz, and check the result"},
		{"\x28\xb5\x2f\xfd", "is compressed with zstd: decompress it with unzstd, and check the result"},
		{"\x7f\x45LF", "is a program or a library, neither a table nor a configuration"},
	};
	enum content content;
	char head[8];
	size_t size;

	if (content_read(path, &content) == 0 && content == CONTENT_CAPTURE)
		return "is a packet capture, neither a table nor a configuration: replay reads captures";
	file_read_head(path, head, sizeof(head), &size);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (size >= strlen(others[i].magic) && memcmp(head, others[i].magic, strlen(others[i].magic)) == 0)
			return others[i].advice;
	return NULL;
}

/* Returns the kind that most keys in the text belong to. CHECK_OTHER: two kinds have as many. */
static enum check_kind kind_by_keys(const char *text)
{
	const struct {
		enum check_kind kind;
		unsigned keys;
	} found[] = {
		{CHECK_DIRECTOR_CONF, conf_count_keys(text, conf_keys)},
		{CHECK_HEALTHCHECK_CONF, check_healthcheck_keys_in(text)},
		{CHECK_REDIRECT_CONF, conf_count_keys(text, redirect_conf_keys)},
		{CHECK_BIFURCATE_CONF, conf_count_keys(text, vf_conf_keys)},
		{CHECK_FLEET_CONF, conf_count_keys(text, fleet_conf_keys)},
	};
	enum check_kind kind = CHECK_OTHER;
	unsigned most = 0;

	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		if (found[i].keys > most)
			kind = found[i].kind;
		else if (found[i].keys == most)
			kind = CHECK_OTHER;
		most = found[i].keys > most ? found[i].keys : most;
	}
	return kind;
}

enum check_kind check_kind_of(const char *path, const char *name)
{
	static char head[HEAD_MAX + 1];
	enum check_kind kind;
	const char *start;
	size_t size;

	file_read_head(path, head, HEAD_MAX, &size);
	head[size] = '\0';
	start = head + strspn(head, " \t\r\n");
	if (size >= 4 && memcmp(head, "GLBD", 4) == 0)
		return CHECK_BINARY_TABLE;
	if (check_kind_advice(path))
		return CHECK_OTHER;
	if (check_environment_is(head))
		return CHECK_ENVIRONMENT;
	if (*start == '{' && strstr(start, "\"tables\""))
		return CHECK_JSON_TABLE;
	if (fnmatch("*/" BIFURCATE_FOLDER "/*.conf", name, 0) == 0)
		return CHECK_BIFURCATE_CONF;
	kind = kind_by_keys(head);
	return kind == CHECK_OTHER ? kind_by_name(name, *start) : kind;
}
