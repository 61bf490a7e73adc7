# SPDX-License-Identifier: BSD-3-Clause
"""What the golden vectors cover, a module per subject. generate.py writes them out."""
