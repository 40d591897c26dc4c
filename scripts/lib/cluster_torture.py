#!/usr/bin/python3
"""Strikes three databases under Patroni, two workers and an endpoint, hosts with addresses of their own, under load.

  scripts/torture --cluster [--minutes N] [--seed N] [--only FAULT[,FAULT]] [--list] [--keep]

One database becomes three while jobs are submitted, by the files of jobs/patroni. Then a fault a minute, and after all
of them it checks from the database and the endpoint's log that nothing was lost, stored or billed twice, and that work
went on within 30 s of each. It needs root. Faults come in their order, or by lot with --seed, as long as the minutes last.
"""
import argparse
import collections
import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

from cluster_rig import BACK_END, DATABASES, WORKERS, Load, Rig, run, wait

# Seconds: from a fault until a job that was submitted then is analysed; how long a fault lasts; from one to the next.
PROMISED, LASTS, EVERY = 30, 40, 60

# What a log of Patroni has, of itself or its server, where a connection is refused for who asks.
REFUSALS = ("does not match host name", "no pg_hba.conf entry", "authentication failed")


class Probe:
    """Submits one job at a time and waits for its result."""

    def __init__(self, rig, picture):
        self.rig, self.picture = rig, picture
        self.count, self.findings = 0, []
        self.acknowledged = {}

    def once(self):
        self.count += 1
        name = f"p{self.count}.jpg"
        file = self.rig.folder / name
        file.symlink_to(self.picture)
        begin = time.monotonic()
        ended = subprocess.run(
            [self.rig.programs / "analysisctl", "submit", "--json", "--user", "probe", "--type", "ear", "--key", name,
             "--again", "--wait", "--connect-timeout", "2m", "--timeout", "2m", file],
            env=self.rig.as_login("backend"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        for line in ended.stdout.splitlines():
            answer = json.loads(line)
            if answer.get("outcome") in ("created", "duplicate"):
                self.acknowledged[name] = str(answer["job"])
        if ended.returncode not in (0, 69, 75):
            self.findings.append(f"{name} ended with {ended.returncode}: {ended.stderr.strip()[-300:]}")
        return begin, time.monotonic(), ended.returncode == 0

    def until(self, end):
        """Probes one after the other until then, and on until one succeeds: when each began and ended."""
        probes = []
        while time.monotonic() < end or not probes or not probes[-1][2]:
            probes.append(self.once())
            if time.monotonic() > end + 120:
                break
            time.sleep(0.2)
        return probes


# What strikes: how it begins on a host and how it ends, on whom, and whether nothing else takes over while it lasts, so that
# work goes on when it ends.

def begin_power(rig, host):
    host.power_off()


def end_power(rig, host):
    host.power_on()
    rig.start_database(host)


def begin_frozen(rig, host):
    host.signal(signal.SIGSTOP)


def end_frozen(rig, host):
    host.signal(signal.SIGCONT)


def others(host):
    return [name for name in DATABASES if name != host.name]


def cut_from(names, rig, host, heals):
    for name in names:
        host.cut(name, heals)
        if name != BACK_END:
            rig.hosts[name].cut(host.name, heals)


def begin_crash(rig, host):
    host.signal(signal.SIGKILL, "/usr/lib/postgresql/15/bin/postgres -D")


def begin_full(rig, host):
    # To the last byte, whatever else is written meanwhile.
    host.enter(["sh", "-c", "cat /dev/zero 2>/dev/null >/var/lib/postgresql/full || true"])


def end_full(rig, host):
    host.enter(["rm", "/var/lib/postgresql/full"])


def set_clock(rig, host, offset):
    (host.folder / "etc/faketimerc").write_text(f"{offset}\n")
    wait(10, "the clock is as it was", lambda: abs(
        float(host.sql("SELECT extract(epoch FROM clock_timestamp())")) - time.time() - (0 if offset == "+0" else 1200)) < 60)


def link(rig, host, state):
    run(["ip", "link", "set", host.name, state])


Fault = collections.namedtuple("Fault", "name words whom begin end waits", defaults=(False,))
FAULTS = [
    Fault("killed", "the primary's machine loses its power", Rig.leader, begin_power, end_power),
    Fault("frozen", "all processes of the primary's machine are stopped, then go on", Rig.leader, begin_frozen, end_frozen),
    Fault("cut-from-peers", "the primary does not reach the other databases, and they not it", Rig.leader,
          lambda rig, host: cut_from(others(host), rig, host, False), lambda rig, host: cut_from(others(host), rig, host, True)),
    Fault("worker-cut", "a worker's machine is cut off", lambda rig: "w1",
          lambda rig, host: link(rig, host, "down"), lambda rig, host: link(rig, host, "up")),
    Fault("disk-full", "the primary's volume is full", Rig.leader, begin_full, end_full, True),
    Fault("cut-from-workers", "the primary and the workers do not reach each other", Rig.leader,
          lambda rig, host: cut_from(WORKERS, rig, host, False), lambda rig, host: cut_from(WORKERS, rig, host, True), True),
    Fault("clock-off", "the primary's clock is 20 minutes ahead", Rig.leader,
          lambda rig, host: set_clock(rig, host, "+20m"), lambda rig, host: set_clock(rig, host, "+0")),
    Fault("crashed", "the primary's postmaster is killed", Rig.leader, begin_crash, lambda rig, host: None),
    Fault("standby-frozen", "all processes of the synchronous standby's machine are stopped, then go on", Rig.synchronous,
          begin_frozen, end_frozen),
    Fault("cut-off", "the primary's machine is cut off from everybody", Rig.leader,
          lambda rig, host: link(rig, host, "down"), lambda rig, host: link(rig, host, "up")),
]


class Torture:
    def __init__(self, rig, options):
        self.rig, self.options = rig, options
        self.findings, self.rows = [], []

    def say(self, text):
        print(text, flush=True)

    def observed(self, name, words, who, act, end, waits=False):
        """Has something done, and sees when work goes on and whether the cluster comes back whole."""
        rig, load = self.rig, self.load
        begin = time.monotonic()
        healed, failed = [], []

        def go():
            try:
                act()
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                failed.append(error)
            healed.append(time.monotonic())

        thread = threading.Thread(target=go)
        thread.start()
        probes = self.probe.until(begin + LASTS + 5)
        thread.join()
        if failed:
            raise RuntimeError(f"{name}: {failed[0]}")
        whole = self.patience("is not whole again", rig.is_whole)
        servers = self.patience("has a server that is not ready", lambda: all(map(rig.is_ready, rig.servers)))
        since = healed[0] if waits else begin
        back, first = 0.0, None
        for start, finish, is_done in probes:
            # What was refused is submitted anew, and counts from its first time.
            first = start if first is None else first
            if finish >= since:
                back = max(back, finish - max(first, since))
            first = None if is_done else first
        done = time.monotonic()
        silence = load.silence(begin, max(done, begin + LASTS + 5))
        row = (name, who, f"{back:.1f}", f"{silence:.1f}", f"{whole - begin:.0f}", rig.leader() or "none")
        self.rows.append((words, *row))
        self.say(f"{name}: on {who}; a job took {back:.1f} s at most{', from the end' if waits else ''}; "
                 f"no submit acknowledged for {silence:.1f} s; whole after {whole - begin:.0f} s; "
                 f"ready after {servers - begin:.0f} s; primary {row[-1]}")
        if not probes[-1][2] or back > PROMISED:
            self.findings.append(f"{name}: work was not back within {PROMISED} s, but after {back:.1f} s")
        return begin

    def patience(self, what, condition, seconds=120):
        try:
            wait(seconds, what, condition)
        except RuntimeError:
            self.findings.append(f"after {seconds} s the cluster {what}")
        return time.monotonic()

    def strike(self, fault):
        rig = self.rig
        name = fault.whom(rig)
        if name is None:
            self.findings.append(f"{fault.name}: there is nobody to strike")
            return time.monotonic()
        host = rig.hosts[name]

        def act():
            rig.struck = (name,)
            fault.begin(rig, host)
            time.sleep(15 if fault.waits else LASTS)
            fault.end(rig, host)
            rig.struck = ()

        return self.observed(fault.name, fault.words, name, act, None, fault.waits)

    def run(self):
        rig, options = self.rig, self.options
        rig.install()
        for number in range(3):
            rig.control("office", "users", "add", f"u{number}", "--plan", "premium", "--zone", "UTC")
        rig.control("office", "users", "add", "probe", "--plan", "premium", "--zone", "UTC")
        rig.start_programs()
        self.load = Load(rig)
        self.probe = Probe(rig, self.load.pictures[0])
        self.probe.once()
        self.say("One database serves two workers, a gateway, a dashboard and a back-end; it becomes three")
        self.observed("become-three", "one database becomes three", "all", rig.become_three, None)
        generator = random.Random(options.seed) if options.seed is not None else None
        kinds = [fault for fault in FAULTS if options.only is None or fault.name in options.only.split(",")]
        begin = time.monotonic()
        deck = []
        while time.monotonic() - begin < options.minutes * 60:
            if not deck:
                deck = kinds[:]
                if generator:
                    generator.shuffle(deck)
            struck = self.strike(deck.pop(0))
            time.sleep(max(0.0, struck + EVERY - time.monotonic()))
        self.check()

    def check(self):
        rig, load, probe = self.rig, self.load, self.probe
        load.stop()
        self.findings += load.findings + probe.findings
        leader = rig.hosts[rig.leader() or "db1"]
        opened = ("SELECT count(*) FROM analysis.job j WHERE NOT EXISTS (SELECT FROM analysis.result r"
                  " WHERE r.shard = j.shard AND r.period = j.period AND r.job_id = j.id)")
        self.patience("has open jobs", lambda: leader.sql(opened) == "0", 180)
        for name, worker in rig.workers.items():
            rig.hosts[name].signal(signal.SIGTERM, "analysis-worker")
            code = worker.wait(60)
            if code != 0:
                self.findings.append(f"the worker of {name} ended with {code}")
        jobs = [line.split("|") for line in leader.sql(
            "SELECT j.id, j.source_name, coalesce(r.outcome::text, ''), j.shard FROM analysis.job j LEFT JOIN analysis.result r"
            " ON r.shard = j.shard AND r.period = j.period AND r.job_id = j.id").splitlines()]
        told = {**load.acknowledged, **probe.acknowledged}
        there = {job for job, *_ in jobs}
        by_name = collections.defaultdict(list)
        for job, name, *_ in jobs:
            by_name[name].append(job)
        results = sum(outcome == "1" for _, _, outcome, _ in jobs)
        calls = collections.Counter()
        for line in rig.calls.read_text().splitlines():
            # A call's key ends with the shard and the job.
            calls["-".join((json.loads(line).get("key") or "").split("-")[-2:])] += 1
        used = int(leader.sql("SELECT coalesce(sum(used), 0) FROM analysis.usage"))
        checks = [
            ("every acknowledged job is there", [f"{n}: job {j}" for n, j in told.items() if j not in there]),
            ("every job has a result", [f"job {j}: outcome {o or 'none'}" for j, _, o, _ in jobs if o != "1"]),
            ("one submit, one job", [f"{n}: {j}" for n, j in by_name.items() if len(j) > 1]),
            ("no job without a submit", [n for n in by_name if n not in load.tried and not n.startswith("p")]),
            ("what is counted is what has a result", [] if used == results else [f"{used} counted, {results} results"]),
            ("the database's own rules", leader.sql("SELECT * FROM analysis.broken_invariants()").splitlines()),
            ("no result without a call, no call without a job",
             [f"job {j} was not called for" for j, _, _, s in jobs if not calls[f"{s}-{j}"]]
             + [f"{key} is no job" for key in calls if key not in {f"{s}-{j}" for j, _, _, s in jobs}]),
        ]
        logs = {name: (rig.folder / f"{name}-patroni.log").read_text(errors="replace") for name in DATABASES}
        checks.append(("no server refuses Patroni", [
            f"{name}: {line}" for name, log in logs.items() for line in log.splitlines() if any(map(line.count, REFUSALS))]))
        for name, words in (("reconcile", ("reconcile",)), ("audit verify", ("audit", "verify"))):
            ended = subprocess.run([rig.programs / "analysisctl", *words], env=rig.as_login("auditor"),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            checks.append((f"analysisctl {name}", [] if ended.returncode == 0 else [ended.stdout.strip()]))
        digest = "SELECT count(*) || ' ' || coalesce(sum(hashtext(r::text)::bigint), 0) FROM analysis.result r"
        self.patience("has standbys that lag", rig.is_whole)
        self.patience("has databases that differ", lambda: len({rig.hosts[name].sql(digest) for name in DATABASES}) == 1, 30)
        for what, broken in checks:
            self.findings += [f"{what}: {row}" for row in broken[:20]]
            self.say(f"{'broken' if broken else 'holds '}  {what}")
        again = sum(calls.values()) - results
        self.say(f"{len(told)} jobs acknowledged, {load.repeats} submits repeated, {len(jobs)} jobs, {results} results, "
                 f"{used} units, {again} calls repeated")


def main():
    parser = argparse.ArgumentParser(prog="scripts/torture --cluster", description=__doc__.split("\n\n")[0])
    parser.add_argument("programs", help=argparse.SUPPRESS)
    parser.add_argument("--minutes", type=int, default=len(FAULTS), help="how long faults are caused; one a minute")
    parser.add_argument("--seed", type=int, help="the faults come by lot, as this number says")
    parser.add_argument("--only", metavar="FAULT[,FAULT]", help="only these: " + ", ".join(fault.name for fault in FAULTS))
    parser.add_argument("--list", action="store_true", help="say which faults there are, and run nothing")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs also when all is well")
    options = parser.parse_args()
    unknown = set((options.only or "").split(",")) - {fault.name for fault in FAULTS} - {""}
    if unknown:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    if options.list:
        for fault in FAULTS:
            print(f"{fault.name:17} {fault.words}")
        return 0
    rig = Rig(options.programs)
    torture = Torture(rig, options)
    try:
        torture.run()
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        torture.findings.append(str(error))
    print("\n| fault | what was done | on | a job took at most, s | no submit acknowledged for, s | whole after, s | primary then |")
    print("|---|---|---|---|---|---|---|")
    for words, name, *row in torture.rows:
        print(f"| {name} | {words} | " + " | ".join(row) + " |")
    for finding in torture.findings:
        print(f"broken: {finding}")
    if torture.findings or options.keep:
        print(f"The logs are in {rig.folder}.")
    else:
        shutil.rmtree(rig.folder, ignore_errors=True)
    print("Something does not hold." if torture.findings else "Everything holds.")
    return 1 if torture.findings else 0


if __name__ == "__main__":
    sys.exit(main())
