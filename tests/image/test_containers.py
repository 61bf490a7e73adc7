# SPDX-License-Identifier: BSD-3-Clause
"""Runs docs/howto/containers.md with Podman and crun, on a host in a network namespace. script/image makes the image before it."""

import os
import re
import shlex
import signal
from pathlib import Path

import pytest
import yaml

from lab.tools import wait_until
from podman_host import IMAGE, Host
from support.pages import block, marked
from support.tree import CLI, TREE

PAGE = "docs/howto/containers.md"
RUN_DIRECTOR = block(PAGE, "--name glb-director")
RUN_HEALTHCHECK = block(PAGE, "--name glb-healthcheck")
NET_ADMIN, NET_RAW = 1 << 12, 1 << 13
LARGEST_MB = 220


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    made = Host(tmp_path_factory.mktemp("host"), functions=block(PAGE, "cli() {"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def configured(host):
    """After step 2."""
    host.bash(block(PAGE, "2770 etc"))
    host.bash(block(PAGE, "cli new"))
    (host.folder / "etc/healthcheck.conf").write_text(block(PAGE, "reload_command"))
    # On a busy machine Podman may lose what a short command prints.
    printed = wait_until(lambda: host.bash(block(PAGE, "cli check")), "the output of check")
    assert printed.count("valid") == 3, printed
    return host


@pytest.fixture
def running(configured):
    """After step 3."""
    yield from start(configured, RUN_DIRECTOR, RUN_HEALTHCHECK)


@pytest.fixture
def running_as_root(configured):
    """With Docker. Root has no DAC_OVERRIDE, and the files are those of the user 19523."""
    yield from start(configured, *(run.replace("--detach", "--detach --user 0").replace("glb-telemetry:", "glb-telemetry-0:")
                                   for run in (RUN_DIRECTOR, RUN_HEALTHCHECK)))


def start(host, *commands):
    try:
        for command in commands:
            host.bash(command)
        wait_until(lambda: "ok since" in host.bash("podman exec glb-director glb-director-cli health", check=False), host.log)
        wait_until(lambda: "reload  done" in host.bash("podman exec glb-healthcheck glb-healthcheck status", check=False), host.log)
        yield host
    finally:
        host.bash("podman rm --force --ignore --time 5 glb-director glb-healthcheck")


def test_image_says_what_it_is(host):
    image = host.inspect("image", IMAGE)
    labels = image["Labels"]
    version = re.search(r"version: '([\d.]+)'", (TREE / "meson.build").read_text())[1]
    assert labels["org.opencontainers.image.version"] == version
    assert labels["org.opencontainers.image.title"] == "GLB Director" and labels["org.opencontainers.image.licenses"] == "BSD-3-Clause"
    assert labels["org.opencontainers.image.revision"] not in ("", "unknown")
    assert image["User"] == "19523:19523" and image["Healthcheck"]["Test"][0] == "CMD-SHELL"


def test_size_on_the_page(host):
    shown = int(re.search(r"The image has (\d+) MB", (TREE / PAGE).read_text())[1])
    size = host.inspect("image", IMAGE)["Size"] / 1e6
    assert size < LARGEST_MB and abs(size - shown) < 10, "correct the page, or find out what made the image larger"


def test_programs_run_without_privileges(host):
    run = "podman run --rm --network none --cap-drop ALL --security-opt no-new-privileges --entrypoint sh localhost/glb-director -c"
    printed = host.bash(f"""{run} '
        for each in glb-director glb-director-cli glb-healthcheck glb-redirect glb-bifurcate glb-announce; do $each --version; done
        grep -c "BEGIN CERTIFICATE" /etc/ssl/certs/ca-certificates.crt
        find / -xdev -user glb 2>/dev/null; true'""")
    *versions, certificates, folder, sockets = printed.splitlines()
    assert [line.split()[0] for line in versions] == ["glb-director", "glb-director-cli", "glb-healthcheck", "glb-redirect", "glb-bifurcate", "glb-announce"]
    assert int(certificates) > 50 and {folder, sockets} == {"/var/lib/glb", "/run/dpdk"}, printed


def test_a_director_without_a_table_names_it(configured):
    run = RUN_DIRECTOR.replace("--detach", "--rm").replace("--restart unless-stopped", "").replace("glb-tables:", "glb-none:")
    printed = configured.bash(run, check=False)
    assert "/var/lib/glb/forwarding_table.bin" in printed and "glb-director: error: " in printed, printed


def test_page_from_start_to_stop(running):
    host = running
    for commands in (block(PAGE, "glb-healthcheck status\n"), block(PAGE, "podman logs"), block(PAGE, "podman healthcheck run")):
        host.bash(commands)
    assert host.client_reaches_a_proxy(), host.log()
    host.bash(block(PAGE, "drain 192.168.50.10"))
    wait_until(lambda: re.search(r"192\.168\.50\.10 +draining", host.bash("podman exec glb-director glb-director-cli show --live")), host.log)
    host.bash("cli edit /etc/glb/forwarding_table.json undrain 192.168.50.10")
    host.bash(block(PAGE, "podman stop glb-director"))
    assert "glb-director\n" not in host.bash("podman ps --all --format '{{.Names}}'")


def status(host, name):
    """(uid, effective capabilities, no_new_privs) of the first process of a container."""
    text = Path(f"/proc/{host.inspect('container', name)['State']['Pid']}/status").read_text()
    return [re.search(rf"^{key}:\t(\w+)", text, flags=re.MULTILINE)[1] for key in ("Uid", "CapEff", "NoNewPrivs")]


def test_containers_have_no_more_privileges_than_the_page_says(running):
    assert status(running, "glb-director") == ["19523", f"{NET_ADMIN | NET_RAW:016x}", "1"]
    assert status(running, "glb-healthcheck") == ["19523", f"{NET_RAW:016x}", "1"]
    for name, path in (("glb-director", "/var/lib/glb/x"), ("glb-director", "/etc/glb/x"), ("glb-healthcheck", "/usr/x")):
        assert "Read-only" in running.bash(f"podman exec --user 0 {name} touch {path}", check=False)


def test_health_check_of_the_image(running):
    def verdict():
        return running.bash("podman healthcheck run glb-director; echo $?", check=False).split()[-1]

    assert verdict() == "0"
    running.bash("podman exec --user 19523 glb-healthcheck sh -c 'cd /var/lib/glb && cp forwarding_table.bin kept && echo x >forwarding_table.bin'")
    assert "glb-director-cli" in running.bash("podman exec glb-director glb-director-cli reload", check=False)
    assert "degraded" in running.bash("podman exec glb-director glb-director-cli health", check=False)
    assert verdict() == "0", "a degraded director forwards"
    running.bash("podman exec glb-healthcheck mv /var/lib/glb/kept /var/lib/glb/forwarding_table.bin")
    running.namespace.ip("link set eth1 down")
    wait_until(lambda: "failing" in running.bash("podman exec glb-director glb-director-cli health", check=False), running.log)
    assert verdict() == "1"
    running.namespace.ip("link set eth1 up")
    wait_until(lambda: verdict() == "0", running.log)


def test_a_killed_director_starts_again(running):
    pid = running.inspect("container", "glb-director")["State"]["Pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: running.inspect("container", "glb-director")["State"]["Pid"] not in (0, pid), running.log)
    wait_until(lambda: "ok since" in running.bash("podman exec glb-director glb-director-cli health", check=False), running.log)
    assert running.client_reaches_a_proxy(), running.log()


def test_programs_of_the_host_find_the_director(configured):
    configured.namespace.run("mount", "-t", "tmpfs", "none", "/run/dpdk")
    configured.bash(block(PAGE, "2770 /run/dpdk"))
    commands = [run.replace("glb-telemetry:", "/run/dpdk:") for run in (RUN_DIRECTOR, RUN_HEALTHCHECK)]
    for host in start(configured, *commands):
        assert "ok since" in host.bash(f"{CLI} health")


def test_root_replaces_what_the_user_has_written(running_as_root):
    """The last test, because the user cannot read what root has written."""
    assert status(running_as_root, "glb-director") == ["0", f"{NET_ADMIN | NET_RAW:016x}", "1"]
    assert status(running_as_root, "glb-healthcheck") == ["0", f"{NET_RAW:016x}", "1"]
    assert running_as_root.client_reaches_a_proxy(), running_as_root.log()


def options(service):
    """The options and arguments of `podman run` for a service of compose.yaml. A key that is not known here fails."""
    known = {
        "container_name": lambda name: ["--name", name], "restart": lambda policy: ["--restart", policy],
        "stop_grace_period": lambda time: ["--stop-timeout", time.removesuffix("s")], "network_mode": lambda mode: ["--network", mode],
        "read_only": lambda on: ["--read-only"] * on, "cap_drop": lambda names: [word for name in names for word in ("--cap-drop", name)],
        "cap_add": lambda names: [word for name in names for word in ("--cap-add", name)],
        "security_opt": lambda names: [word for name in names for word in ("--security-opt", name)],
        "healthcheck": lambda keys: ["--no-healthcheck"] * keys["disable"],
        "volumes": lambda names: [word for name in names for word in ("--volume", name.replace("./", "$PWD/"))],
        "entrypoint": lambda words: ["--entrypoint", *words],
    }
    return sorted(word for key, value in service.items() if key not in ("image", "command") for word in known[key](value)), service["command"]


def test_compose_file_is_the_same_as_the_commands():
    (text,) = marked(PAGE, "yaml")
    compose = yaml.safe_load(text)
    assert {name: keys["name"] for name, keys in compose["volumes"].items()} == {"glb-tables": "glb-tables", "glb-telemetry": "glb-telemetry"}
    for name, command in (("director", RUN_DIRECTOR), ("healthcheck", RUN_HEALTHCHECK)):
        words = shlex.split(command.replace("\\\n", " "))
        at = words.index(IMAGE)
        wanted = [word for word in words[2:at] if word != "--detach"]
        assert options(compose["services"][name]) == (sorted(wanted), words[at + 1:])
        assert compose["services"][name]["image"] == IMAGE
