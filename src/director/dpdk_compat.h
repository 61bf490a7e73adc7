/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences between the supported DPDK releases. Only this file looks at RTE_VERSION. */
#pragma once

#include <stdint.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0)
#error "DPDK 22.11 or later is needed"
#endif

/* DPDK 23.03 renamed the function for unsigned values. */
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

/* What a driver's rx_queue_count() returns. It is signed in DPDK 25.11, for errors. */
#if RTE_VERSION < RTE_VERSION_NUM(25, 11, 0, 0)
typedef uint32_t dpdk_queue_count;
#else
typedef int dpdk_queue_count;
#endif
