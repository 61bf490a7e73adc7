/* SPDX-License-Identifier: BSD-3-Clause */
/* A TAP interface for the exception path, in its own network namespace, so that its frames reach nothing else. */
#pragma once

/* Returns the file descriptor of the interface, which exists until it is closed. -1: the kernel does not permit it. */
int kernel_open_tap(void);
