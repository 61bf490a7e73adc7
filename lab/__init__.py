# SPDX-License-Identifier: BSD-3-Clause
"""A load balancer in network namespaces, with scenarios and a demo. Tests use its namespaces and its waits."""
