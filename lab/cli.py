# SPDX-License-Identifier: BSD-3-Clause
"""lab/lab: a complete load balancer in network namespaces.

  lab/lab up             start a lab that runs until lab/lab down
  lab/lab status         print the lab's hosts and their counters
  lab/lab shell HOST     open a shell on a host
  lab/lab exec HOST CMD  run a command on a host
  lab/lab forward HOST PORT
                         make a port of a host reachable for a browser
  lab/lab down           stop the lab
  lab/lab demo           run the demo, or with --fleet that of a roll-out; with
                         --keep its lab stays up
  lab/lab list           list the scenarios
  lab/lab scenario NAME  run a scenario, or `all`, each in its own lab

Needs root. Nothing is left when a lab ends, even by kill -9.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import textwrap

from lab import capsule, demo, demo_fleet, forward, monitor, scenario, status
from lab.fleet import Fleet
from lab.tools import COMMAND, LabError, check_tools
from lab.topology import HOPS, MAX_DIRECTORS, MAX_PROXIES, MONITOR, UNDERLAYS, Shape

NAME_VARIABLE = "GLB_LAB_NAME"  # environment variable: the name of the lab, unless --name gives it


def number(least, most):
    def parse(text):
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} to {most}")
        return value

    parse.__name__ = "number"
    return parse


def lab_name(text):
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a name of 1 to 64 letters, digits, '_', '.' or '-'")
    return text


def usual_name():
    """The name of the lab if no option gives one."""
    try:
        return lab_name(os.environ.get(NAME_VARIABLE) or "main")
    except argparse.ArgumentTypeError as error:
        raise LabError(f"{NAME_VARIABLE}: {error}") from None


def add_shape(parser):
    parser.add_argument("--directors", type=number(1, MAX_DIRECTORS), metavar="N", help="number of directors, 2 unless given")
    parser.add_argument("--proxies", type=number(1, MAX_PROXIES), metavar="N", help="number of proxies, 3 unless given")
    parser.add_argument("--hops", type=number(2, 8), metavar="N", help=f"hops in a row of the table, 2 to 8, {HOPS} unless given")
    parser.add_argument("--healthcheck", action="store_true", default=None, help="run glb-healthcheck for each director")
    parser.add_argument("--metrics", action="store_true", default=None, help="run Prometheus with the shipped alerts on the host monitor")
    add_ways(parser)


def add_ways(parser):
    parser.add_argument("--pmd", choices=("af_xdp", "af_packet"), help="driver of the directors, af_xdp unless given")
    add_underlay(parser)
    routes = parser.add_mutually_exclusive_group()
    routes.add_argument("--bgp", action="store_true", default=None, help="BGP routes (BIRD 2 with BFD) instead of static ones")
    routes.add_argument("--announce", choices=("bird", "frr"), help="BGP routes that glb-announce announces through this daemon")


def add_underlay(parser):
    parser.add_argument("--underlay", choices=UNDERLAYS, help="family of the addresses of directors and proxies, ipv4 unless given")


def shape_values(arguments):
    wanted = {name: getattr(arguments, name, None) for name in Shape.__dataclass_fields__}
    return {name: value for name, value in wanted.items() if value is not None}


def parse(argv):
    parser = argparse.ArgumentParser(
        prog=COMMAND, description=__doc__.replace("lab/lab", COMMAND), formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=f"{COMMAND} up|down|status|shell|exec|forward|demo|scenario|list [OPTIONS]")
    commands = parser.add_subparsers(prog=COMMAND, dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS)

    def command(name, function, **options):
        made = commands.add_parser(name, **options)
        made.set_defaults(function=function)
        return made

    up = command("up", do_up)
    add_shape(up)
    shell = command("shell", do_shell)
    run = command("exec", do_exec)
    carry = command("forward", do_forward)
    for each in (up, command("down", do_down), command("status", do_status), shell, run, carry):
        each.add_argument("--name", default=usual_name(), type=lab_name, help=f"name of the lab; without it ${NAME_VARIABLE}, or `main`")
    for each in (shell, run, carry):
        each.add_argument("host")
    carry.add_argument("port", type=number(1, 65535), metavar="PORT", help="TCP port on 127.0.0.1 of the host, or on ::1")
    carry.add_argument("--local", type=number(1, 65535), metavar="PORT", help="port on 127.0.0.1 of this machine, the same unless given")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD")
    command("list", do_list)
    show = command("demo", do_demo)
    show.add_argument("--fleet", action="store_true", help="a roll-out through etcd: plan, progress, a director that refuses a table")
    show.add_argument("--keep", action="store_true", help="leave the lab up")
    add_underlay(show)
    play = command("scenario", do_scenario)
    play.add_argument("names", nargs="+", metavar="NAME")
    play.add_argument("--json", metavar="FILE", help="write the results to a file, not to standard output")
    play.add_argument("--seconds", type=number(1, 3600), help="time that the scenario waits, if it has a wait that can be set")
    play.add_argument("--previous", type=os.path.abspath, metavar="BUILDDIR", help="build folder of the version that the scenario upgrades")
    play.add_argument("--reloads", type=number(1, 10000), help="how many reloads the scenario makes, if it makes any")
    play.add_argument("--connections", type=number(10, 20000), help="how many QUIC connections the scenario keeps open, if it has any")
    play.add_argument("--repeat", type=number(1, 1000), default=1, metavar="N", help="run each scenario N times, and count how often it passes")
    add_ways(play)
    return parser.parse_args(argv)


def parse_inside(argv):
    """Parses the command lines that this program writes for its process in the capsule."""
    parser = argparse.ArgumentParser()
    parser.set_defaults(function=INSIDE[argv[0]])
    parser.add_argument("--fds")
    parser.add_argument("--shape", type=json.loads, default={})
    parser.add_argument("--scenario")
    parser.add_argument("--fleet", action="store_true")
    for setting in scenario.SETTINGS:
        parser.add_argument(f"--{setting}", type=int)
    return parser.parse_args(argv[1:])


def do_up(arguments):
    capsule.start(arguments.name, capsule.self_argv("_up", "--shape", json.dumps(shape_values(arguments))))
    hosts = capsule.hosts(capsule.find_or_fail(arguments.name))
    print(f"up: {', '.join(hosts)}")
    show_pages(arguments.name, "director-1", arguments.healthcheck)
    if arguments.metrics:
        name = f" --name {arguments.name}" if arguments.name != usual_name() else ""
        print(f"Prometheus: run `{COMMAND} forward{name} {MONITOR} {monitor.PORT}`, and open http://127.0.0.1:{monitor.PORT}/alerts in a browser")


def show_pages(name, director, healthcheck):
    """Makes the pages of a director reachable for a browser, and prints their addresses."""
    ports = [monitor.DIRECTOR_PORT] + [monitor.HEALTHCHECK_PORT] * bool(healthcheck)
    urls = forward.in_background(capsule.find_or_fail(name), [(director, port) for port in ports])
    for what, url in zip((f"page of {director}", "page of its health checks"), urls):
        print(f"{what}: {url}")


def in_capsule_up(arguments):
    capsule.enter_capsule()
    fleet = Fleet(Shape(**arguments.shape)).up()
    keep = capsule.announce(arguments.fds)
    signal.pause()
    del fleet, keep


def do_demo(arguments):
    argv = capsule.self_argv("_demo", "--shape", json.dumps(shape_values(arguments)), *["--fleet"] * arguments.fleet)
    if not arguments.keep:
        return subprocess.run(capsule.dying_with_us(capsule.capsule_argv(argv))).returncode
    if not capsule.launch(usual_name(), argv, f"run {COMMAND} down"):
        return 1
    show_pages(usual_name(), demo.LEFT, healthcheck=True)
    return 0


def in_capsule_demo(arguments):
    capsule.enter_capsule()
    keeping = arguments.fds is not None
    fleet, broken = demo.run(keeping, arguments.shape, demo_fleet.FleetDemo if arguments.fleet else demo.Demo)
    if broken or not keeping:
        return 1 if broken else 0
    keep = capsule.announce(arguments.fds)
    signal.pause()
    del fleet, keep
    return 0


def do_down(arguments):
    capsule.stop(arguments.name)


def do_status(arguments):
    pid = capsule.find_or_fail(arguments.name)
    return subprocess.run(capsule.inside_argv(pid, capsule.self_argv("_status"))).returncode


def in_capsule_status(_):
    status.show()


def do_shell(arguments):
    pid = capsule.find_or_fail(arguments.name)
    argv = capsule.host_argv(pid, arguments.host, ["bash", "--norc", "-i"])
    return subprocess.run(argv, env={**os.environ, "PS1": r"\h# "}).returncode


def do_exec(arguments):
    pid = capsule.find_or_fail(arguments.name)
    words = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not words:
        raise LabError("exec: the command is missing")
    return subprocess.run(capsule.host_argv(pid, arguments.host, words)).returncode


def do_forward(arguments):
    forward.run(capsule.find_or_fail(arguments.name), arguments.host, arguments.port, arguments.local)


def do_list(_):
    for name, module in scenario.SCENARIOS.items():
        print(textwrap.fill(module.SUMMARY, 80, initial_indent=f"{name:15} ", subsequent_indent=" " * 16, break_on_hyphens=False))


def do_scenario(arguments):
    names = list(scenario.SCENARIOS) if arguments.names == ["all"] else arguments.names
    for name in names:
        scenario.find(name)
        if arguments.seconds and not hasattr(scenario.SCENARIOS[name], "SECONDS"):
            raise LabError(f"--seconds: scenario '{name}' has no wait that can be set")
        if arguments.announce and getattr(scenario.SCENARIOS[name], "SHAPE", {}).get("bgp"):
            raise LabError(f"--announce: scenario '{name}' stops and freezes BIRD itself, without glb-announce")
        if arguments.previous and not hasattr(scenario.SCENARIOS[name], "UPGRADES"):
            raise LabError(f"--previous: scenario '{name}' upgrades nothing")
        if arguments.reloads and not hasattr(scenario.SCENARIOS[name], "RELOADS"):
            raise LabError(f"--reloads: scenario '{name}' makes no reloads")
        if arguments.connections and not hasattr(scenario.SCENARIOS[name], "CONNECTIONS"):
            raise LabError(f"--connections: scenario '{name}' has no QUIC connections")
    with _output(arguments.json) as file:
        results = [_play(name, shape_values(arguments), arguments) for name in names for _ in range(arguments.repeat)]
        if arguments.repeat > 1:
            print(f"{sum(result['passed'] for result in results)} of {len(results)} runs passed", flush=True)
        file.write(json.dumps(results[0] if len(results) == 1 else results, indent=1) + "\n")
    return 0 if all(result["passed"] or result["skipped"] for result in results) else 1


def _output(path):
    """Opens the file before the first scenario runs, so that a wrong path does not cost minutes."""
    if not path:
        return contextlib.nullcontext(sys.stdout)
    try:
        return open(path, "w")
    except OSError as error:
        raise LabError(f"--json: {path}: {error.strerror}") from None


def _play(name, shape, settings):
    """Runs a scenario in a new capsule, which returns the result through a pipe."""
    ours, theirs = os.pipe()
    argv = capsule.self_argv("_scenario", "--scenario", name, "--shape", json.dumps(shape), "--fds", str(theirs))
    for option in scenario.SETTINGS:
        if value := getattr(settings, option):
            argv += [f"--{option}", str(value)]
    process = subprocess.Popen(capsule.dying_with_us(capsule.capsule_argv(argv)), pass_fds=[theirs])
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        text = pipe.read()
    if process.wait() != 0 or not text:
        raise LabError(f"scenario {name} stopped before its end: see the message above")
    return json.loads(text)


def in_capsule_scenario(arguments):
    capsule.enter_capsule()
    result = scenario.run(arguments.scenario, arguments.shape, vars(arguments))
    with os.fdopen(int(arguments.fds), "w") as pipe:
        json.dump(result, pipe)


INSIDE = {"_up": in_capsule_up, "_demo": in_capsule_demo, "_scenario": in_capsule_scenario, "_status": in_capsule_status}


def main():
    inside = len(sys.argv) > 1 and sys.argv[1] in INSIDE
    try:
        arguments = (parse_inside if inside else parse)(sys.argv[1:])
        if arguments.function is not do_list and os.geteuid() != 0:
            raise LabError("network namespaces need root: run this command as root")
        if arguments.function in (do_up, do_demo, do_scenario):
            check_tools()
        return arguments.function(arguments) or 0
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
    return 1


