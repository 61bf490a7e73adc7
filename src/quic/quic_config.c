/* SPDX-License-Identifier: BSD-3-Clause */
/* In a file of its own, so that programs that only check tables do not need libnettle. */
#include "quic/quic.h"

#include <stddef.h>

const char *quic_config_fault(const struct quic_config *config)
{
	if (config->id >= QUIC_MAX_CONFIGS)
		return "id must be 0 to 6";
	if (config->server_id_length < 1 || config->server_id_length > QUIC_MAX_SERVER_ID)
		return "server_id_length must be 1 to 15";
	if (config->nonce_length < QUIC_MIN_NONCE || config->nonce_length > QUIC_MAX_NONCE)
		return "nonce_length must be 4 to 18";
	if (config->server_id_length + config->nonce_length > QUIC_MAX_PLAINTEXT)
		return "server_id_length and nonce_length must be at most 19 together";
	return NULL;
}
