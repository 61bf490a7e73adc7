/* SPDX-License-Identifier: BSD-3-Clause */
/* The token that etcd gives to a user. It expires, and etcd then refuses requests with it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/file/file.h"
#include "etcd/etcd_core.h"

#define PASSWORD_MAX ((size_t)4096)
#define DOUBT_MS     30000 /* a login costs etcd much CPU time, so an etcd that is slow gets few of them */

/* The token becomes a part of a header. */
static bool is_token(const char *text)
{
	size_t length = 0;

	while (text && isgraph((unsigned char)text[length]))
		length++;
	return length && !text[length];
}

static void take_token(void *data, enum etcd_result result, const json_t *body)
{
	struct etcd *etcd = data;
	const char *token = json_string_value(json_object_get(body, "token"));

	etcd->authentication = NULL;
	if (result == ETCD_DONE && is_token(token)) {
		etcd->token = strdup(token);
	} else if (result == ETCD_DONE) {
		etcd_say(etcd, etcd->endpoint, "the reply has no token for the user");
		result = ETCD_REFUSED;
	} else if (result == ETCD_REFUSED && strstr(etcd->state.error, "authentication is not enabled")) {
		etcd->token = strdup("");
		result = ETCD_DONE;
	}
	if (result == ETCD_DONE && !etcd->token)
		result = ETCD_UNREACHABLE; /* out of memory */
	etcd->token_ms = clock_now_ms();
	etcd_call_resume(etcd, result);
}

/*
 * A token ends with the raft index at which it was made. An etcd that was restored from a backup has a lower index, and
 * waits until it has that one, which can take for ever, before it says that the token is bad.
 */
void etcd_auth_doubt(struct etcd *etcd)
{
	if (!etcd->token || !*etcd->token || clock_now_ms() - etcd->token_ms < DOUBT_MS)
		return;
	free(etcd->token);
	etcd->token = NULL;
}

/* Returns {"name", "password"}; NULL: state.error says why. The file is read each time, because it may change. */
static json_t *make_request(struct etcd *etcd)
{
	const struct etcd_conf *conf = etcd->conf;
	struct faults faults = {.file = conf->password_file};
	char *password = NULL;
	size_t size = 0;
	json_t *request = NULL;

	if (conf->password_file &&
		file_read(conf->password_file, "a password", PASSWORD_MAX, &password, &size, &faults) == 0) {
		password[strcspn(password, "\r\n")] = '\0';
		request = json_pack("{s:s, s:s}", "name", conf->user, "password", password);
		explicit_bzero(password, size);
	}
	if (!request)
		etcd_say(etcd, etcd->endpoint, "%s",
			faults.errors ? faults_first_error(&faults) : "user and password must be text in UTF-8");
	free(password);
	faults_clear(&faults);
	return request;
}

void etcd_auth_start(struct etcd *etcd)
{
	json_t *request;

	if (etcd->authentication)
		return;
	request = make_request(etcd);
	if (request)
		etcd->authentication = etcd_call_start(etcd, ETCD_AUTHENTICATE, request, NULL, take_token, etcd);
	if (!etcd->authentication)
		etcd_call_resume(etcd, ETCD_DENIED);
}
