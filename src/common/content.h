/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognises what a file contains by its first bytes, so that no output replaces a file of another kind. One thread. */
#pragma once

enum content {
	CONTENT_EMPTY,
	CONTENT_BINARY_TABLE,
	CONTENT_CAPTURE,
	CONTENT_JSON_TABLE,
	CONTENT_JSON,
	CONTENT_TEXT,
	CONTENT_UNKNOWN,
};

/* Returns what messages call the content: "a JSON table". NULL for an empty file. */
const char *content_name(enum content content);

/* Reads the start of the file. Returns 0; or -errno, and *content is CONTENT_UNKNOWN. */
int content_read(const char *path, enum content *content);
