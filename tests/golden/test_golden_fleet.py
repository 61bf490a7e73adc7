# SPDX-License-Identifier: BSD-3-Clause
"""The errors about the configuration of glb-fleet."""

import subprocess

from golden import check, errors_about_keys, sections

from support.tree import FLEET


def test_keys_of_the_configuration(tmp_path):
    def errors(text):
        (tmp_path / "fleet.conf").write_text(text)
        done = subprocess.run([FLEET, "check", "--config-file", tmp_path / "fleet.conf"], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        return done.stderr.replace(f"{tmp_path}/", "")

    check("fleet.conf.errors", sections(errors_about_keys(errors)))
