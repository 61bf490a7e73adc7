# SPDX-License-Identifier: BSD-3-Clause
"""The director runs with GLB's own files after `glb-director-cli migrate`."""

import subprocess

import pytest

from lab.tools import wait_until
from support import glb, pcap
from support.cli import tcp_frame
from support.director_process import DirectorProcess
from support.tree import CLI


@pytest.mark.parametrize("name, lcores", [
    ("packaged-director.conf", "4@0,5@0,6@1,7@1"),  # num_dist_workers is 1 in it, but it has two workers
    ("vagrant-director.conf", "0@0,1@0,2@1"),
    ("test-config-director.json", "0@0,1@0,2@1"),
])
def test_director_forwards_with_the_files_of_glb(tmp_path, name, lcores):
    conf, table, binary = tmp_path / "director.conf", tmp_path / "table.json", tmp_path / "table.bin"
    for arguments in (["migrate", glb.FILES / name, conf], ["migrate", glb.FILES / "table.json", table],
                      ["build-config", table, binary, "--format", "2"]):
        subprocess.run([CLI, *arguments], check=True, capture_output=True)
    frames = [tcp_frame(source=f"198.51.100.{i}", destination="1.1.1.1") for i in range(1, 65)]
    pcap.write(tmp_path / "rx.pcap", [*frames, tcp_frame(destination="9.9.9.9")])
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
    with DirectorProcess([vdev], conf, binary, lcores=lcores, prefix=("unshare", "--net")) as director:
        wait_until(lambda: director.stats()["forwarded"] == len(frames), lambda: str(director.stats()))
        kni = '"kni": true' in (glb.FILES / name).read_text()
        wait_until(lambda: director.stats()["exception" if kni else "drop_unmatched"] == 1, lambda: str(director.stats()))
