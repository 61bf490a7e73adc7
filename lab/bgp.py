# SPDX-License-Identifier: BSD-3-Clause
"""Routes by BIRD 2 (BGP, BFD, merge paths) instead of static ones."""


class BgpRoutes:
    def __init__(self, router):
        raise NotImplementedError
