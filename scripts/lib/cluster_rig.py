"""Machines of namespaces: three databases under Patroni, two workers, and one for the endpoint and the object store, each
with an address, files and processes of its own. Who imports it runs as root in mount, network and process namespaces of its
own, with which all of them end: scripts/lib/machines.sh."""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATABASES = ("db1", "db2", "db3")
WORKERS = ("w1", "w2")
ADDRESSES = {"db1": 11, "db2": 12, "db3": 13, "w1": 21, "w2": 22, "store": 31}
BACK_END = "10.77.0.1"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"}
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

    # Where programs find the key and the store of images, if there is one.
    images = {}

    def __init__(self, programs):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cluster-"))
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
        return {**self.environment, **self.images, "PGUSER": login, "PGPASSFILE": f"/etc/analysis/{login}.pgpass"}

    def service(self, login):
        return {**ENVIRONMENT, **self.images, "PGSERVICEFILE": "/etc/analysis/pg_service.conf",
                "PGPASSFILE": f"/etc/analysis/{login}.pgpass"}

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
        for file in logins.iterdir():
            self.give(file)

    def give(self, file):
        """Copies a file into /etc/analysis of every machine, for root alone."""
        for etc in (pathlib.Path("/etc"), *(host.folder / "etc" for host in self.hosts.values())):
            copy = etc / "analysis" / file.name
            shutil.copyfile(file, copy)
            copy.chmod(0o600)
            os.chown(copy, 0, 0)

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
            self.start_worker(name)
        # The others that stay up run with the back-end, which has an address of its own too.
        self.servers = {}
        for name, login, words, port in (
            ("analysis-gateway", "gateway", ["--database", "service=analysis-gateway", "--listen", "127.0.0.1:8090",
                                             "--metrics", "127.0.0.1:9466"], 9466),
            ("analysisctl", "operations", ["serve", "--database", "service=analysis-operations", "--listen", "127.0.0.1:8080"], 8080)):
            log = open(self.folder / f"{name}.log", "ab")
            self.servers[port] = subprocess.Popen(
                [self.programs / name, *words], env=self.service(login), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_worker(self, name):
        self.workers[name] = self.hosts[name].start(
            "worker", [self.programs / "analysis-worker", "--config", "/etc/analysis/worker.conf"],
            environment=self.service("worker"))

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
