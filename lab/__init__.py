# SPDX-License-Identifier: BSD-3-Clause
"""A load balancer in network namespaces: the demo, and what tests share with it."""
