# SPDX-License-Identifier: BSD-3-Clause
"""The cases of the golden vectors, a module per subject. generate.py writes the vectors."""
