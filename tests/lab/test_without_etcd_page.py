# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/roll-out-without-etcd.md: its commands, on three directors of a lab. ssh and scp reach the hosts of the lab, in whose folders the
files of the directors are."""

import json
import re
import subprocess

import pytest
from lab_process import LAB, environment, lab, new_mark

from lab.tools import TIMEOUT_S, program_folders
from support.pages import commands, marked

PAGE = "docs/howto/roll-out-without-etcd.md"
PLAN, FUNCTIONS, STEPS, BACK = marked("docs/howto/roll-out-without-etcd.md", "host")
END = "@@ end of a command @@"
# A lab has no systemd, and its directors have prefixes.
SHELL = f"""
PATH={":".join(map(str, program_folders()))}:$PATH
name() {{ case $1 in 192.0.2.70) echo proxy-1 ;; *) echo director-${{1#lb}} ;; esac; }}
ssh() {{
    local host=$(name $1); shift
    {LAB} exec $host bash -c "systemctl() {{ command glb-director-cli reload --file-prefix $host >/dev/null; }}
        glb-director-cli() {{ case \\$1 in stats) command glb-director-cli \\"\\$@\\" --file-prefix $host ;; *) command glb-director-cli \\"\\$@\\" ;; esac; }}
        $*"
}}
scp() {{ {LAB} exec $(name ${{3%%:*}}) sh -c "cat >${{3#*:}}" <$2; }}
"""


class Shell:
    """One shell for all commands of the page."""

    def __init__(self, folder, mark):
        self.process = subprocess.Popen(["bash"], cwd=folder, env=environment(mark), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.run(SHELL)

    def run(self, command):
        """What the command prints, and its exit code."""
        self.process.stdin.write(f"{command.replace('/etc/glb/', '').replace('/var/lib/glb/', '')}\necho \"{END} $?\"\n")
        self.process.stdin.flush()
        printed = []
        while not (line := self.process.stdout.readline()).startswith(END):
            assert line, f"the shell ended: {command}\n{''.join(printed)}"
            printed.append(line)
        return "".join(printed), int(line.split()[-1])

    def walk(self, block):
        for command, shown in commands(block):
            printed, code = self.run(command)
            assert code == 0, f"$ {command}\n{printed}"
            assert not shown or printed.splitlines() == shown, f"$ {command}\n{printed}"
            yield printed

    def close(self):
        self.process.stdin.close()
        self.process.wait(TIMEOUT_S)


@pytest.fixture
def shell(tmp_path):
    mark = new_mark()
    assert lab("up", "--directors", "3", "--proxies", "4", mark=mark).returncode == 0
    shell = Shell(tmp_path, mark)
    try:
        yield shell
    finally:
        shell.close()
        lab("down")


def test_page(shell, tmp_path):
    table = lab("exec", "director-1", "cat", "forwarding_table.json").stdout
    (tmp_path / "table.json").write_text(table)
    (tmp_path / "wanted.json").write_text(table.replace('"192.0.2.70"', '"192.0.2.86"'))
    planned, = shell.walk(PLAN)
    assert re.findall(r"Publish steps/(\d)\.json", planned) == ["1", "2", "3"] and "this plan: 0 of" in planned
    list(shell.walk(FUNCTIONS))
    list(shell.walk(STEPS))
    for number in (1, 2, 3):
        used = json.loads(lab("exec", f"director-{number}", "glb-director-cli", "show", "--json", "forwarding_table.bin").stdout)
        assert "192.0.2.86" in {each["ip"] for each in used["tables"][0]["backends"]}
    list(shell.walk(BACK))
    dead_director(shell)


def dead_director(shell):
    """`publish` stops, and `same` says which director has another table."""
    lab("exec", "director-2", "sh", "-c", "kill -9 $(cat director.pid)")
    printed, code = shell.run("publish 2")
    assert code != 0 and "director-2" in printed, printed
    printed, code = shell.run("same 2")
    assert code == 1 and printed.endswith("lb2 does not use step 2\n"), printed
    assert shell.run("ssh lb3 glb-director-cli stats --json | grep digest")[0] == shell.run("glb-director-cli show --json steps/3.json | grep digest")[0]
