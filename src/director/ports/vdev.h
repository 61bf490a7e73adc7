/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of --vdev, "NAME,KEY=VALUE,...", and the sockets of vhost-user that they name. Main thread, before EAL
 * starts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Copies the value of a key. Returns false if there is none or if it does not fit. */
bool vdev_value(const char *vdev, const char *key, char *value, size_t size);

/*
 * If the device listens on a socket of vhost-user: removes the one that a killed director left, because DPDK does not.
 * Returns 0; or -errno after logging why the device cannot listen there.
 */
int vdev_claim_socket(const char *vdev);
