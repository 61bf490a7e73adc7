/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>

/* Returns a pointer to the struct of type `type` that contains the member to which `pointer` points. DPDK has the same
 * macro. */
#ifndef container_of
#define container_of(pointer, type, member)                                        \
	__extension__({                                                            \
		__typeof__(((type *)0)->member) *member_pointer = (pointer);       \
		(type *)(void *)((char *)member_pointer - offsetof(type, member)); \
	})
#endif
