# SPDX-License-Identifier: BSD-3-Clause
"""The clients: many long-lived connections that exchange data, and a stream of new short ones. Run as

    load.py '{"vips": [..], "sources": {"4": [..], "6": [..]}, "held": 200, "short": 4, "echo_port": 7000, "http_port": 80}'

It reads commands from standard input, one per line, and answers each with a line of JSON:

    mark NAME     short connections opened from now on are counted under NAME
    finish PROXY  the clients of PROXY end their long-lived connections and open others instead
    held          the long-lived connections, each as [flow, proxy]
    report        all counts so far, see Load.report()
    stop          all connections end once they have their answers; then the same as report

With the settings held_pause_s and short_pause_s, it pauses for longer between two exchanges and between two short connections.
With the setting renew_s, most long-lived connections end after that many seconds or a few times as many, and others take their places.

A connection is broken if it is refused, is reset, ends early, waits longer than 3 s (in tests: 10 s) for an answer, or gets a wrong answer.
"""

import asyncio
import collections
import json
import os
import socket
import sys
import time

# Tests set a long one, for busy machines. Chaos sets its own.
TIMEOUT_S = int(os.environ.get("GLB_LAB_ANSWER_S", 0)) or max(3, int(os.environ.get("GLB_LAB_TIMEOUT_S", 0)) // 24)
HELD_PAUSE_S = 0.2  # between two exchanges of a long-lived connection, unless the setting held_pause_s says otherwise
SHORT_PAUSE_S = 0.02  # between two short connections of one worker, unless the setting short_pause_s says otherwise
RENEW_PAUSE_S = 0.5
FIRST_HELD_PORT, FIRST_SHORT_PORT, LAST_PORT = 20000, 30000, 65000
LIVES = (1, 2, 4, None)  # with the setting renew_s: how long long-lived connections live, in this time; None: to the end


class Broken(Exception):
    """Its text is the reason: "reset", "closed", "timeout" or "wrong data"."""


def why(error):
    if isinstance(error, Broken):
        return str(error)
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, (ConnectionError, asyncio.IncompleteReadError)):
        return "reset"
    return f"{type(error).__name__}: {error}"


def percentiles_ms(times):
    ordered = sorted(times)
    return {f"p{percent}": round(1000 * ordered[len(ordered) * percent // 100], 2) for percent in (50, 90)}


class Clients:
    """Chooses addresses and ports of connections, so that a connection has the same row in each run."""

    def __init__(self, vips, sources):
        self.vips, self.sources = vips, sources

    def flow(self, number, port):
        """(VIP, source address, source port)"""
        vip = self.vips[number % len(self.vips)]
        addresses = self.sources["6" if ":" in vip else "4"]
        return vip, addresses[number // len(self.vips) % len(addresses)], port


async def connect(flow, vip_port):
    vip, address, port = flow
    family = socket.AF_INET6 if ":" in vip else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.setblocking(False)
        connection.bind((address, port))
        loop = asyncio.get_running_loop()
        await asyncio.wait_for(loop.sock_connect(connection, (vip, vip_port)), TIMEOUT_S)
        return await asyncio.open_connection(sock=connection)
    except BaseException:
        connection.close()
        raise


class Held:
    """A long-lived connection."""

    def __init__(self, number, flow, pause_s):
        self.number, self.flow, self.pause_s = number, flow, pause_s
        self.proxy = self.broken = None
        self.exchanges = 0
        self.finish = False  # asked to end
        self.end_at = None  # on the monotonic clock; None: it lives until it is asked to end
        self.since = self.asked = self.opened = time.monotonic()  # when the last exchange with an answer began, and the last exchange
        self.answered = None  # when the first answer came
        self.longest_s = 0.0

    def question(self):
        """A text that differs each time, also in length."""
        size = 16 + (self.number * 37 + self.exchanges * 101) % 1000
        return f"{self.number} {self.exchanges} ".encode().ljust(size, b"x") + b"\n"

    async def exchange(self, reader, writer):
        question, start = self.question(), time.monotonic()
        self.asked = start
        writer.write(question)
        answer = await asyncio.wait_for(reader.readline(), TIMEOUT_S)
        if not answer:
            raise Broken("closed")
        proxy, _, rest = answer.partition(b" ")
        if rest != question or self.proxy not in (None, proxy.decode()):
            raise Broken("wrong data")
        self.proxy = proxy.decode()
        self.exchanges += 1
        self.since, self.answered = start, self.answered or time.monotonic()
        self.longest_s = max(self.longest_s, time.monotonic() - start)

    async def run(self, port, opened):
        writer = None
        try:
            reader, writer = await connect(self.flow, port)
            await self.exchange(reader, writer)
            opened.set_result(None)
            while not self.finish and not (self.end_at and time.monotonic() > self.end_at):
                await asyncio.sleep(self.pause_s)
                await self.exchange(reader, writer)
        except Exception as error:
            self.broken, self.until = why(error), time.monotonic()
            if not opened.done():
                opened.set_result(None)
        finally:
            if writer:
                writer.close()


class Load:
    def __init__(self, settings):
        self.settings = settings
        self.clients = Clients(settings["vips"], settings["sources"])
        self.held = []
        self.label = "start"
        self.short = collections.defaultdict(collections.Counter)  # label -> proxy -> connections
        self.short_s = collections.defaultdict(list)  # label -> how long each took, from SYN to FIN
        self.short_broken = []
        self.landed = []  # with the setting renew_s: [flow, proxy, when it was opened, when it had an answer] of short connections
        self.tasks = set()
        self.stopping = False

    def keep(self, coroutine):
        task = asyncio.create_task(coroutine)
        self.tasks.add(task)
        return task

    async def start(self):
        """Returns when every long-lived connection has had its first answer or is broken."""
        await self.open_held(self.settings["held"])
        for worker in range(self.settings["short"]):
            self.keep(self.short_worker(worker))

    async def open_held(self, count):
        opened = []
        for _ in range(count):
            number = len(self.held)
            flow = self.clients.flow(number, FIRST_HELD_PORT + number % (FIRST_SHORT_PORT - FIRST_HELD_PORT))
            held = Held(number, flow, self.settings.get("held_pause_s", HELD_PAUSE_S))
            self.held.append(held)
            opened.append(asyncio.get_running_loop().create_future())
            held.task = self.keep(self.hold(held, opened[-1]))
            await asyncio.sleep(0.001)  # so that their exchanges do not coincide
        await asyncio.gather(*opened)

    async def hold(self, held, opened):
        """With the setting renew_s another connection follows each that ends or breaks, a moment later."""
        renew_s, life = self.settings.get("renew_s"), LIVES[held.number % len(LIVES)]
        if renew_s and life:
            held.end_at = time.monotonic() + renew_s * life
        await held.run(self.settings["echo_port"], opened)
        await asyncio.sleep(RENEW_PAUSE_S if renew_s else 0)
        if renew_s and not self.stopping:
            await self.open_held(1)

    async def finish(self, proxy):
        theirs = [held for held in self.held if held.proxy == proxy and not held.broken]
        for held in theirs:
            held.finish = True
        await asyncio.gather(*(held.task for held in theirs))
        await self.open_held(len(theirs))
        return len(theirs)

    async def stop(self):
        """Ends every connection after its current exchange. Returns the last report."""
        self.stopping = True
        for held in self.held:
            held.finish = True
        while waiting := [task for task in self.tasks if not task.done()]:
            await asyncio.gather(*waiting)
        return self.report()

    async def short_worker(self, worker):
        workers = self.settings["short"]
        for number in range(worker, 1 << 30, workers):
            if self.stopping:
                return
            port = FIRST_SHORT_PORT + number % (LAST_PORT - FIRST_SHORT_PORT)
            await self.short_one(self.clients.flow(number, port), self.label)
            await asyncio.sleep(self.settings.get("short_pause_s", SHORT_PAUSE_S))

    async def short_one(self, flow, label):
        start = time.monotonic()
        try:
            proxy = await self.get(flow)
            self.short[label][proxy] += 1
            self.short_s[label].append(time.monotonic() - start)
            if self.settings.get("renew_s"):
                self.landed.append([flow, proxy, start, time.monotonic()])
        except Exception as error:
            self.short_broken.append({"label": label, "flow": flow, "why": why(error), "since": start, "until": time.monotonic()})

    async def get(self, flow):
        """Sends an HTTP request, and reads to the end of the connection. Returns the name of the proxy that answered."""
        reader, writer = await connect(flow, self.settings["http_port"])
        try:
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(-1), TIMEOUT_S)
        finally:
            writer.close()
        if not answer:
            raise Broken("closed")
        head, _, body = answer.partition(b"\r\n\r\n")
        proxy = body.decode().strip()
        if not head.startswith(b"HTTP/1.1 200 ") or f"x-proxy: {proxy}" not in head.decode().lower():
            raise Broken("wrong data")
        return proxy

    def report(self):
        by_proxy = collections.Counter(held.proxy for held in self.held if held.proxy)
        answers = collections.Counter()
        for held in self.held:
            answers[held.proxy] += held.exchanges
        return {
            "held": len(self.held),
            "held_by_proxy": dict(sorted(by_proxy.items())),
            "held_broken": [
                {"flow": held.flow, "proxy": held.proxy, "why": held.broken, "since": held.since, "asked": held.asked, "until": held.until}
                for held in self.held if held.broken],
            "exchanges": sum(held.exchanges for held in self.held),
            "exchanges_by_proxy": {proxy: count for proxy, count in answers.items() if proxy},
            "fewest_exchanges": min((held.exchanges for held in self.held if not held.broken), default=0),
            "longest_answer_s": round(max((held.longest_s for held in self.held), default=0), 3),
            "short": sum(sum(counts.values()) for counts in self.short.values()) + len(self.short_broken),
            "short_by_label": {label: dict(sorted(counts.items())) for label, counts in self.short.items()},
            "short_ms_by_label": {label: percentiles_ms(times) for label, times in self.short_s.items()},
            "short_broken": self.short_broken,
            "landed": self.landed and self.landed + [[held.flow, held.proxy, held.opened, held.answered] for held in self.held if held.answered],
        }

    async def commands(self):
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := (await reader.readline()).decode().split():
            if line[0] == "mark":
                self.label = line[1]
                answer = {"marked": line[1]}
            elif line[0] == "held":
                answer = {"held": [(held.flow, held.proxy) for held in self.held]}
            elif line[0] == "finish":
                answer = {"finished": await self.finish(line[1])}
            elif line[0] == "stop":
                answer = await self.stop()
            else:
                answer = self.report()
            print(json.dumps(answer), flush=True)


async def main(settings):
    load = Load(settings)
    await load.start()
    print(json.dumps(load.report()), flush=True)
    await load.commands()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
