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
import os
import pathlib
import pwd
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATABASES = ("db1", "db2", "db3")
WORKERS = ("w1", "w2")
ADDRESSES = {"db1": 11, "db2": 12, "db3": 13, "w1": 21, "w2": 22, "store": 31}
BACK_END = "10.77.0.1"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"}
# Seconds: from a fault until a job that was submitted then is analysed; how long a fault lasts; from one to the next.
PROMISED, LASTS, EVERY = 30, 40, 60
DATA_SIZE = "900m"
# By which a server's clock is set apart from the machine's; what counts on is left alone, as by a clock that is set wrong.
# Patroni and etcd keep the machine's: the library breaks the first one's sleep, and does not reach the other.
CLOCK = {
    "LD_PRELOAD": str(next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))),
    "FAKETIME_TIMESTAMP_FILE": "/etc/faketimerc", "FAKETIME_CACHE_DURATION": "1", "DONT_FAKE_MONOTONIC": "1"}


def address(name):
    return f"10.77.0.{ADDRESSES[name]}"


def run(command, **options):
    """Runs a command that has to succeed; returns what it wrote."""
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout


def wait(seconds, what, condition):
    """Waits until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"after {seconds} s: {what}")
        time.sleep(0.3)


class Host:
    """A machine: a network, files and processes of its own. Its files outlive its power."""

    def __init__(self, rig, name):
        self.rig, self.name, self.folder = rig, name, rig.folder / name
        self.folder.mkdir()
        run(["cp", "-a", "/etc", self.folder / "etc"])
        script = f"""
            set -e
            hostname {name}
            ip link set lo up
            mount --bind {self.folder}/etc /etc
            mount -t tmpfs -o mode=755 tmpfs /run
            mount -t tmpfs -o mode=1777 tmpfs /dev/shm
            install -d -o postgres -g postgres -m 2775 /run/postgresql
            mount -t tmpfs -o size={DATA_SIZE},mode=755,uid=postgres,gid=postgres tmpfs /var/lib/postgresql
            mount -t tmpfs -o mode=755,uid=postgres,gid=postgres tmpfs /var/log/postgresql
            mount -t tmpfs -o mode=700,uid=etcd,gid=etcd tmpfs /var/lib/etcd
            echo ready
            exec sleep infinity"""
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"{name} could not be made: it needs root, and namespaces")
        run(["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid)])
        run(["ip", "link", "set", name, "master", "lan", "up"])
        self.enter(["ip", "addr", "add", f"{address(name)}/24", "dev", "eth0"], kept=True)
        self.enter(["ip", "link", "set", "eth0", "up"], kept=True)
        self.init = None
        self.power_on()

    def power_on(self):
        self.machine = subprocess.Popen(
            ["nsenter", "-t", str(self.holder.pid), "-n", "-m", "-u", "--", "unshare", "--mount", "--pid", "--fork",
             "--kill-child", "--mount-proc", "bash", "-c", "echo ready; sleep infinity & wait"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.machine.stdout.readline() != "ready\n":
            raise RuntimeError(f"{self.name} has no power")
        self.init = child(self.machine.pid)

    def power_off(self):
        os.kill(self.init, signal.SIGKILL)
        self.machine.wait()

    def pids(self):
        """Its processes, but for the first."""
        own = os.readlink(f"/proc/{self.init}/ns/pid")
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and int(entry) != self.init and os.readlink(f"/proc/{entry}/ns/pid") == own:
                    found.append(int(entry))
            except OSError:
                pass
        return found

    def signal(self, number, having=""):
        for pid in self.pids():
            try:
                if having in pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "):
                    os.kill(pid, number)
            except OSError:
                pass

    def words(self, command, user=None, kept=False):
        where = ["-t", str(self.holder.pid), "-n", "-m", "-u"] if kept else ["-t", str(self.init), "-n", "-m", "-u", "-p"]
        as_user = ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"] if user else []
        return ["nsenter", *where, "--", *as_user, *map(str, command)]

    def enter(self, command, user=None, kept=False, environment=None, **options):
        return run(self.words(command, user, kept), env={**ENVIRONMENT, **(environment or {})}, cwd="/", **options)

    def start(self, name, command, user=None, environment=None):
        log = open(self.rig.folder / f"{self.name}-{name}.log", "ab")
        return subprocess.Popen(
            self.words(command, user), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            env={**ENVIRONMENT, **(environment or {})})

    def sql(self, text, database="analysis", seconds=30):
        return self.enter(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", text], user="postgres",
            environment={"PGOPTIONS": f"-c statement_timeout={seconds}s"}, timeout=seconds + 10).strip()

    def cut(self, other, heals=False):
        """Frames to the other host go to nobody, until that heals."""
        there = other if other == BACK_END else address(other)
        if heals:
            self.enter(["ip", "neigh", "del", there, "dev", "eth0"], kept=True)
        else:
            self.enter(
                ["ip", "neigh", "replace", there, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent"], kept=True)


def commands(section, language="sh"):
    """What docs/failover.md shows below a heading; the files are those of the source."""
    text = (ROOT / "docs/failover.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    blocks = [block.split("```")[0] for block in text.split(f"```{language}\n")[1:]]
    return "\n".join(blocks).replace("/usr/share/doc/analysis-queue/examples/patroni", str(ROOT / "jobs/patroni"))


def child(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


class Rig:
    """The machines, and what runs on them."""

    def __init__(self, programs):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cluster-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        for name in ("analysis-worker", "analysis-gateway", "analysisctl", "image-decoder", "model-endpoint"):
            shutil.copy2(pathlib.Path(programs) / name, self.programs / name)
        run(["cp", "-a", "/etc", self.folder / "etc"])
        run(["mount", "--bind", self.folder / "etc", "/etc"])
        hosts = "".join(f"{address(name)} {name}.example.org {name}\n" for name in ADDRESSES)
        pathlib.Path("/etc/hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
        run(["ip", "link", "set", "lo", "up"])
        run(["ip", "link", "add", "lan", "type", "bridge"])
        run(["ip", "addr", "add", f"{BACK_END}/24", "dev", "lan"])
        run(["ip", "link", "set", "lan", "up"])
        self.stubs()
        self.configure()
        self.hosts = {name: Host(self, name) for name in ADDRESSES}
        self.workers = {}

    def configure(self):
        """What docs/install.md puts into /etc/analysis, which each machine has from here."""
        etc = pathlib.Path("/etc/analysis")
        shutil.rmtree(etc, ignore_errors=True)
        etc.mkdir()
        service = (ROOT / "jobs/pg_service.conf").read_text()
        every = ",".join(f"{name}.example.org" for name in DATABASES)
        lines = commands("2. The programs name all hosts", "text").strip()
        (etc / "pg_service.conf").write_text(service.replace("host=db.example.org", lines))
        worker = (ROOT / "jobs/worker.conf").read_text()
        worker = worker.replace("https://model.example.org", f"http://{address('store')}:8090")
        (etc / "worker.conf").write_text(
            worker.replace("credentials = endpoint", f"credentials = {etc}/endpoint.credentials\nallow-plain-http = true"))
        (etc / "endpoint.password").write_text("a password of the torture")
        (etc / "endpoint.credentials").write_text("email = worker@example.org\npassword = a password of the torture\n")
        for file in ("endpoint.password", "endpoint.credentials"):
            (etc / file).chmod(0o600)
        self.environment = {
            **ENVIRONMENT, "PGDATABASE": "analysis", "PGHOST": every, "PGTARGETSESSIONATTRS": "read-write",
            "PGSSLROOTCERT": str(etc / "ca.pem")}

    def stubs(self):
        """What a host of namespaces lacks: a service manager. The packages are there."""
        folder = self.folder / "stubs"
        folder.mkdir()
        (folder / "apt-get").write_text("#!/bin/sh\n")
        (folder / "systemctl").write_text(f"""#!/bin/bash
            exec >>{self.folder}/$(hostname)-$2.log 2>&1 </dev/null
            set -a
            case $2 in
              etcd) . /etc/default/etcd; exec setpriv --reuid etcd --regid etcd --init-groups setsid --fork etcd ;;
              patroni) cd /; exec setpriv --reuid postgres --regid postgres --init-groups setsid --fork patroni /etc/patroni/config.yml ;;
            esac
            exit 64
            """)
        for stub in folder.iterdir():
            stub.chmod(0o755)

    def as_login(self, login):
        return {**self.environment, "PGUSER": login, "PGPASSFILE": f"/etc/analysis/{login}.pgpass"}

    def service(self, login):
        return {**ENVIRONMENT, "PGSERVICEFILE": "/etc/analysis/pg_service.conf", "PGPASSFILE": f"/etc/analysis/{login}.pgpass"}

    def control(self, login, *words, **options):
        return run([self.programs / "analysisctl", *words], env=self.as_login(login), **options)

    # One server, as docs/install.md makes it.

    def install(self):
        first = self.hosts["db1"]
        run(["bash", "-euc", commands("1. Certificates")], env=ENVIRONMENT)
        made = pathlib.Path("/etc/analysis/hosts")
        shutil.copy(made / "ca.pem", "/etc/analysis/ca.pem")
        for name, host in self.hosts.items():
            etc = host.folder / "etc"
            shutil.copy(made / "ca.pem", etc / "analysis/ca.pem")
            if name not in DATABASES:
                continue
            own = etc / "analysis/hosts"
            own.mkdir()
            for file in ("ca.pem", f"{name}.example.org.pem", f"{name}.example.org.key"):
                shutil.copy(made / file, own / file)
            for folder in ("patroni", "etcd", "postgresql"):
                shutil.rmtree(etc / folder, ignore_errors=True)
            (etc / "postgresql").mkdir()
            run(["chown", "postgres:postgres", etc / "postgresql"])
            # Each has the cluster that Debian's package makes.
            host.enter(["pg_createcluster", "15", "main", "--locale", "C.UTF-8"], environment={"LC_ALL": "C.UTF-8"})
            (etc / "faketimerc").write_text("+0\n")
        configuration = first.folder / "etc/postgresql/15/main"
        for file in ("db1.example.org.pem", "db1.example.org.key"):
            shutil.copy(made / file, configuration / file)
            (configuration / file).chmod(0o600)
            run(["chown", "postgres", configuration / file])
        (configuration / "conf.d/tls.conf").write_text(
            f"listen_addresses = '*'\nssl = on\nssl_cert_file = '/etc/postgresql/15/main/db1.example.org.pem'\n"
            f"ssl_key_file = '/etc/postgresql/15/main/db1.example.org.key'\n")
        with open(configuration / "pg_hba.conf", "a", encoding="utf-8") as file:
            file.write("hostssl analysis all all scram-sha-256\n")
        first.enter(["pg_ctlcluster", "15", "main", "start"])
        first.enter(["createdb", "--encoding", "UTF8", "--locale", "C.UTF-8", "--template", "template0", "analysis"], user="postgres")
        first.enter([self.programs / "analysisctl", "migrate", "--database", "dbname=analysis"], user="postgres")
        logins = first.folder / "logins"
        logins.mkdir(mode=0o700)
        run(["chown", "postgres", logins])
        first.enter([self.programs / "analysisctl", "roles", "setup", "--database", "dbname=analysis", "--out", logins], user="postgres")
        for host in [None, *self.hosts.values()]:
            etc = pathlib.Path("/etc/analysis") if host is None else host.folder / "etc/analysis"
            for file in logins.iterdir():
                shutil.copy(file, etc / file.name)
                (etc / file.name).chmod(0o600)
                os.chown(etc / file.name, 0, 0)

    def fit(self, etc):
        """The volume is small here; and Patroni hands its environment to no server, so that the one with the clock of its own is
        started through a script that has it."""
        folder = etc / "patroni/bin"
        folder.mkdir()
        folder.chmod(0o755)
        (etc / "patroni").chmod(0o755)
        for program in pathlib.Path("/usr/lib/postgresql/15/bin").iterdir():
            (folder / program.name).symlink_to(program)
        (folder / "postgres").unlink()
        words = " ".join(f"{name}={value}" for name, value in CLOCK.items())
        (folder / "postgres").write_text(f'#!/bin/sh\nexec env {words} /usr/lib/postgresql/15/bin/postgres "$@"\n')
        (folder / "postgres").chmod(0o755)
        configuration = etc / "patroni/config.yml"
        text = configuration.read_text().replace("bin_dir: /usr/lib/postgresql/15/bin", "bin_dir: /etc/patroni/bin")
        configuration.write_text(text.replace("wal_keep_size: 2GB", "wal_keep_size: 128MB\n        max_wal_size: 128MB"))

    def start_programs(self):
        self.calls = self.folder / "calls.jsonl"
        self.hosts["store"].start("endpoint", [
            self.programs / "model-endpoint", "--host", address("store"), "--port", "8090", "--no-decode", "--delay", "100ms",
            "--require-auth", "--account", "worker@example.org:/etc/analysis/endpoint.password", "--log", self.calls])
        for name in WORKERS:
            self.workers[name] = self.hosts[name].start(
                "worker", [self.programs / "analysis-worker", "--config", "/etc/analysis/worker.conf"],
                environment=self.service("worker"))
        # The others that stay up run with the back-end, which has an address of its own too.
        self.servers = {}
        for name, login, words, port in (
            ("analysis-gateway", "gateway", ["--database", "service=analysis-gateway", "--listen", "127.0.0.1:8090",
                                             "--metrics", "127.0.0.1:9466"], 9466),
            ("analysisctl", "operations", ["serve", "--database", "service=analysis-operations", "--listen", "127.0.0.1:8080"], 8080)):
            log = open(self.folder / f"{name}.log", "ab")
            self.servers[port] = subprocess.Popen(
                [self.programs / name, *words], env=self.service(login), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def is_ready(self, port):
        ended = subprocess.run(
            ["curl", "--silent", "--max-time", "2", "--output", "/dev/null", "--write-out", "%{http_code}",
             f"http://127.0.0.1:{port}/readyz"], stdout=subprocess.PIPE, text=True, check=False)
        return ended.stdout == "200"

    # Three servers, as docs/failover.md makes them of it.

    def follow(self, section, host):
        host.enter(["bash", "-euo", "pipefail", "-c", commands(section)],
                   environment={"PATH": f"{self.folder}/stubs:{ENVIRONMENT['PATH']}"}, timeout=120)

    def start_database(self, host):
        for unit in ("etcd", "patroni"):
            host.enter([self.folder / "stubs/systemctl", "start", unit])

    def patronictl(self, *words, by=None):
        host = by or self.some_database()
        return host.enter(["patronictl", "-c", "/etc/patroni/config.yml", *words], user="postgres", timeout=60)

    def some_database(self):
        return next(self.hosts[name] for name in DATABASES if name not in self.struck)

    struck = ()

    def members(self):
        try:
            return {row["Member"]: row for row in json.loads(self.patronictl("list", "--format", "json"))}
        except (RuntimeError, ValueError, subprocess.TimeoutExpired):
            return {}

    def leader(self):
        return next((name for name, row in self.members().items() if row["Role"] == "Leader"), None)

    def synchronous(self):
        return next((name for name, row in self.members().items() if row["Role"] == "Sync Standby"), None)

    def is_whole(self):
        members = self.members()
        roles = collections.Counter(row["Role"] for row in members.values())
        return (roles == {"Leader": 1, "Sync Standby": 1, "Replica": 1}
                and all(row["State"] in ("running", "streaming") for row in members.values())
                and len({row.get("TL") for row in members.values()}) == 1)

    def become_three(self):
        for name in DATABASES:
            self.follow("3. On each host", self.hosts[name])
            self.fit(self.hosts[name].folder / "etc")
        self.follow("4. The server becomes the first of three", self.hosts["db1"])
        for name in DATABASES[1:]:
            self.follow("5. The standbys", self.hosts[name])
        wait(120, "the standbys do not follow", self.is_whole)


class Load:
    """Submits all the time, and remembers what was acknowledged."""

    def __init__(self, rig, count=3):
        self.rig = rig
        self.lock = threading.Lock()
        self.acknowledged, self.tried, self.findings, self.moments = {}, set(), [], []
        self.repeats = 0
        self.is_over = False
        pictures = rig.folder / "pictures"
        run([ROOT / "scripts/draw-samples", "--count", "12", "--size", "40", pictures])
        self.pictures = sorted(pictures.iterdir())
        self.threads = [threading.Thread(target=self.submit, args=(number,), daemon=True) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def submit(self, number):
        run_number = 0
        while not self.is_over:
            run_number += 1
            key = f"k{number}-{run_number}"
            folder = self.rig.folder / "submits" / key
            folder.mkdir(parents=True)
            for part in range(3):
                (folder / f"{key}-{part}.jpg").symlink_to(self.pictures[(run_number + part) % len(self.pictures)])
            with self.lock:
                self.tried.update(file.name for file in folder.iterdir())
            # As a back-end does, which repeats under its key what it has no answer for.
            while not self.once(number, key, folder):
                self.repeats += 1
                time.sleep(0.5)
            time.sleep(0.5)

    def once(self, number, key, folder):
        ended = subprocess.run(
            [self.rig.programs / "analysisctl", "submit", "--json", "--user", f"u{number}", "--type", "throat", "--key", key,
             "--again", "--connect-timeout", "20s", folder],
            env=self.rig.as_login("backend"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        with self.lock:
            for line in ended.stdout.splitlines():
                answer = json.loads(line)
                if answer.get("outcome") not in ("created", "duplicate"):
                    continue
                name, job = os.path.basename(answer["file"]), str(answer["job"])
                if self.acknowledged.setdefault(name, job) != job:
                    self.findings.append(f"{name} was acknowledged as job {self.acknowledged[name]}, then as {job}")
                self.moments.append(time.monotonic())
            if ended.returncode not in (0, 69, 75):
                self.findings.append(f"submit of {key} ended with {ended.returncode}: {ended.stderr.strip()[-300:]}")
        return ended.returncode == 0

    def silence(self, begin, end):
        """The longest time without an acknowledgement."""
        with self.lock:
            moments = [begin, *(moment for moment in self.moments if begin < moment < end), end]
        return max(b - a for a, b in zip(moments, moments[1:]))

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join(120)


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
