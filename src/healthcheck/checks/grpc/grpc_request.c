/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/grpc/grpc_request.h"

#include <stdlib.h>
#include <string.h>

#include "healthcheck/checks/grpc/grpc_message.h"
#include "healthcheck/config/conf.h"

#define CONTENT_TYPE "application/grpc"

static bool add_header(struct http_request *request, const char *line)
{
	struct curl_slist *longer = curl_slist_append(request->headers, line);

	if (longer)
		request->headers = longer;
	return longer;
}

bool grpc_request_set(struct http_request *request, const struct probe *probe)
{
	long version = probe->spec->http->tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	uint8_t message[GRPC_REQUEST_MAX];
	size_t size = grpc_request_write(message, probe->spec->uri);
	CURL *easy = request->easy;

	if (!add_header(request, "Content-Type: " CONTENT_TYPE) || !add_header(request, "TE: trailers"))
		return false;
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)size);
	return curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, message) == CURLE_OK;
}

/* Writes the code of gRPC. It is a trailer, or a header if there is no message. Returns NULL, or what is wrong. */
static const char *read_code(CURL *easy, unsigned *code)
{
	static const unsigned origins[] = {CURLH_HEADER, CURLH_TRAILER};
	struct curl_header *header;
	size_t count = 0;

	for (size_t i = 0; i < 2; i++) {
		if (curl_easy_header(easy, "grpc-status", 0, origins[i], -1, &header) != CURLHE_OK)
			continue;
		count += header->amount;
		if (strspn(header->value, "0123456789") != strlen(header->value) || !*header->value ||
			strlen(header->value) > 3)
			return "grpc-status is not a number";
		*code = (unsigned)atoi(header->value);
	}
	return count == 0  ? "the reply has no grpc-status"
	       : count > 1 ? "the reply has more than one grpc-status"
			   : NULL;
}

static const char *code_name(unsigned code)
{
	static const char *const names[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED",
		"NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
		"ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};

	return code < sizeof(names) / sizeof(names[0]) ? names[code] : "unknown";
}

static bool is_grpc(CURL *easy)
{
	const char *type = NULL;

	curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
	return type && strncmp(type, CONTENT_TYPE, strlen(CONTENT_TYPE)) == 0 &&
	       strchr("+; ", type[strlen(CONTENT_TYPE)]);
}

static void judge_message(const struct http_request *request, struct probe *probe)
{
	uint64_t status = 0;
	/* `body` holds the first 64 KiB, so a longer reply must not be read. */
	const char *why = request->received > GRPC_REPLY_MAX + 5
				  ? "the reply has more than 1024 bytes"
				  : grpc_reply_read((uint8_t *)request->body, request->received, &status);
	const char *name = grpc_serving_name(status);

	if (why)
		probe_end(probe, CHECK_BAD_REPLY, "%s", why);
	else if (!name)
		probe_end(probe, CHECK_BAD_STATUS, "the service reports a status that gRPC does not define");
	else
		probe_end(probe, status == GRPC_SERVING ? CHECK_PASSED : CHECK_BAD_STATUS, "%s", name);
}

void grpc_request_judge(const struct http_request *request, struct probe *probe)
{
	long version = 0, status = 0;
	unsigned code = 0;
	const char *why;

	curl_easy_getinfo(request->easy, CURLINFO_HTTP_VERSION, &version);
	curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	why = read_code(request->easy, &code);
	if (version != CURL_HTTP_VERSION_2)
		probe_end(probe, CHECK_BAD_REPLY, "the proxy does not offer HTTP/2");
	else if (status != 200)
		probe_end(probe, CHECK_BAD_STATUS, "status %ld", status);
	else if (!is_grpc(request->easy))
		probe_end(probe, CHECK_BAD_REPLY, "the content type of the reply is not " CONTENT_TYPE);
	else if (why)
		probe_end(probe, CHECK_BAD_REPLY, "%s", why);
	else if (code)
		probe_end(probe, CHECK_BAD_STATUS, "grpc-status %u (%s)", code, code_name(code));
	else
		judge_message(request, probe);
}
