/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences between the DPDK releases that the director supports. Only this file looks at RTE_VERSION. */
#ifndef GLB_DIRECTOR_TELEMETRY_DPDK_COMPAT_H
#define GLB_DIRECTOR_TELEMETRY_DPDK_COMPAT_H

#include <rte_telemetry.h>
#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0)
#error "DPDK 22.11 or later is needed"
#endif

/* DPDK 23.03 renamed the function for unsigned values. */
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

#endif
