#!/usr/bin/python3
"""What scripts/demo-cluster shows, on the machines of cluster_rig.py: PROGRAMS OUT are the folders of the programs and of
what stays."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

sys.dont_write_bytecode = True

from cluster_rig import ENVIRONMENT, ROOT, Load, Rig, address, run, wait

KEYS, STORE = "/etc/analysis/image.keys", "/etc/analysis/image-store.conf"


def say(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else f"\n{text}", flush=True)


class Ceph:
    """A monitor, a manager, an OSD in a file and a gateway of S3's interface with a bucket, on one machine."""

    def __init__(self, host):
        self.host, self.folder = host, host.folder / "ceph"
        self.environment = {"CEPH_CONF": f"{self.folder}/ceph.conf"}
        self.failure = None
        self.thread = threading.Thread(target=self.start, daemon=True)
        self.thread.start()

    def ask(self, *words, **options):
        return self.host.enter(words, environment=self.environment, timeout=60, **options)

    def daemon(self, *words):
        return self.host.start(words[0], [*words, "-f"], environment=self.environment)

    def start(self):
        try:
            self.configure()
            self.make()
        except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            self.failure = error

    def configure(self):
        self.folder.mkdir()
        for part in ("mon", "mgr", "osd"):
            (self.folder / part).mkdir()
        self.cluster, self.disk = (pathlib.Path("/proc/sys/kernel/random/uuid").read_text().strip() for _ in range(2))
        certificate = f"/etc/analysis/hosts/{self.host.name}.example.org"
        (self.folder / "ceph.conf").write_text(textwrap.dedent(f"""
            [global]
            fsid = {self.cluster}
            mon host = v2:{address(self.host.name)}:3300
            public network = {address(self.host.name)}/24
            keyring = {self.folder}/keyring
            run dir = {self.folder}
            admin socket = {self.folder}/$name.asok
            pid file = {self.folder}/$name.pid
            log file = /dev/stderr
            mon data = {self.folder}/mon
            mgr data = {self.folder}/mgr
            osd data = {self.folder}/osd
            bluestore block size = 4294967296
            osd memory target = 939524096
            # Of one disk: what is lost with it is lost.
            osd pool default size = 1
            osd pool default min size = 1
            osd pool default pg num = 8
            osd pool default pg autoscale mode = off
            osd crush chooseleaf type = 0
            mon allow pool size one = true
            mon data avail warn = 1
            [client.rgw]
            rgw frontends = beast ssl_endpoint={address(self.host.name)}:443 ssl_certificate={certificate}.pem ssl_private_key={certificate}.key
            rgw thread pool size = 32
            """))

    def make(self):
        keyring, text = self.folder / "keyring", textwrap.dedent("""
            [mon.]
            key = NEW
            caps mon = "allow *"
            [client.admin]
            key = NEW
            caps mon = "allow *"
            caps osd = "allow *"
            caps mgr = "allow *"
            [mgr.x]
            key = NEW
            caps mon = "allow profile mgr"
            caps osd = "allow *"
            [osd.0]
            key = NEW
            caps mon = "allow profile osd"
            caps osd = "allow *"
            caps mgr = "allow profile osd"
            [client.rgw]
            key = NEW
            caps mon = "allow rw"
            caps osd = "allow rwx"
            """)
        while "NEW" in text:
            text = text.replace("NEW", self.ask("ceph-authtool", "--gen-print-key").strip(), 1)
        keyring.write_text(text)
        monmap = self.folder / "monmap"
        self.ask("monmaptool", "--create", "--fsid", self.cluster, "--addv", "x", f"[v2:{address(self.host.name)}:3300]", monmap)
        self.ask("ceph-mon", "--mkfs", "-i", "x", "--monmap", monmap)
        self.daemon("ceph-mon", "-i", "x")
        self.ask("ceph", "auth", "import", "-i", keyring)
        self.daemon("ceph-mgr", "-i", "x")
        self.ask("ceph", "osd", "new", self.disk, "0")
        self.ask("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", self.disk)
        self.daemon("ceph-osd", "-i", "0")
        wait(30, "Ceph's disk is not up", lambda: json.loads(self.ask("ceph", "osd", "stat", "-f", "json"))["num_up_osds"] == 1)
        gateway = self.daemon("radosgw", "-n", "client.rgw")
        user = json.loads(self.ask("radosgw-admin", "user", "create", "--uid=analysis", "--display-name=analysis"))
        self.key, self.secret = user["keys"][0]["access_key"], user["keys"][0]["secret_key"]
        wait(60, "Ceph's gateway does not answer", lambda: gateway.poll() is not None or self.has_bucket())
        if gateway.poll() is not None:
            raise RuntimeError("Ceph's gateway has ended")

    def has_bucket(self):
        """Makes the bucket, where the gateway answers."""
        # The digest of an empty body, which curl does not send by itself.
        ended = subprocess.run(
            ["curl", "--silent", "--max-time", "20", "--config", "-", "--cacert", "/etc/analysis/ca.pem", "--request", "PUT",
             "--aws-sigv4", "aws:amz:us-east-1:s3", "--output", "/dev/null", "--write-out", "%{http_code}", "--header",
             "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
             "https://store.example.org/images"],
            input=f'user = "{self.key}:{self.secret}"\n', stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False)
        return ended.stdout == "200"

    def objects(self):
        usage = json.loads(self.ask("radosgw-admin", "bucket", "stats", "--bucket=images"))["usage"]
        return usage.get("rgw.main", {}).get("num_objects", 0)


class Demo:
    def __init__(self, programs, out):
        self.rig, self.out = Rig(programs), out
        self.rig.images = {"ANALYSIS_KEY_FILE": KEYS, "ANALYSIS_IMAGE_STORE": STORE}

    def control(self, login, *words, folder=None):
        """Runs a command as a login; shows it and what it says."""
        print(f"as {login:9} $ analysisctl {' '.join(map(str, words))}", flush=True)
        ended = subprocess.run(
            [self.rig.programs / "analysisctl", *words], env=self.rig.as_login(login), cwd=folder, check=False, stderr=sys.stdout)
        if ended.returncode != 0:
            raise RuntimeError(f"analysisctl {words[0]} ended with {ended.returncode}")

    def submit(self, kind, key, pictures, *options):
        self.control("backend", "submit", "--user", "clinic-7", "--type", kind, "--key", key, "--wait", *options,
                     *(picture.name for picture in pictures), folder=pictures[0].parent)

    def number(self, sql):
        return int(self.rig.hosts[self.rig.leader()].sql(sql))

    def where(self):
        """How many images are where."""
        inside = self.number("SELECT count(*) FROM analysis.image WHERE bytes IS NOT NULL")
        outside = self.number("SELECT count(*) FROM analysis.image WHERE object_key IS NOT NULL")
        return f"{inside} images are in the database, {outside} in Ceph"

    def run(self):
        rig = self.rig
        say("Six machines: db1, db2 and db3 for the database, w1 and w2 for workers, store for Ceph and the endpoint")
        run(["sh", ROOT / "jobs/patroni/certificates", "/etc/analysis/hosts", "store.example.org"])
        shutil.copytree("/etc/analysis/hosts", rig.hosts["store"].folder / "etc/analysis/hosts",
                        ignore=shutil.ignore_patterns("authority.key"))
        ceph = Ceph(rig.hosts["store"])
        rig.install()
        print("One database, by docs/install.md, becomes three, by docs/failover.md:", flush=True)
        rig.become_three()
        print(rig.patronictl("list"), end="", flush=True)

        say("Ceph is there, and a key file by which images are encrypted before they leave")
        keys, store = (rig.folder / pathlib.Path(file).name for file in (KEYS, STORE))
        run([rig.programs / "analysisctl", "keys", "new", "--key-file", keys])
        ceph.thread.join(120)
        if ceph.failure or ceph.thread.is_alive():
            raise RuntimeError(f"Ceph has not started: {ceph.failure or 'it still tries'}")
        store.write_text(
            f"address = https://store.example.org/images\naccess-key = {ceph.key}\nsecret-key = {ceph.secret}\n"
            "ca-file = /etc/analysis/ca.pem\n")
        for file in (keys, store):
            rig.give(file)
        print(f"It is {ceph.ask('ceph', '--version').strip()}: a monitor, a manager, a disk and a gateway with a bucket.")

        say("Two workers, a gateway and the dashboard run; three back-ends submit all the time from now on")
        for user in ("u0", "u1", "u2", "clinic-7"):
            self.control("office", "users", "add", user, "--plan", "premium", "--zone", "UTC")
        rig.start_programs()
        load = Load(rig)
        self.submit("throat", "ward-3", load.pictures[-3:], "--results")
        print(self.gateway(load.pictures[0]))

        primary = rig.leader()
        say(f"The machines of {primary}, the primary, and of w1 lose their power")
        begin = time.monotonic()
        for name in (primary, "w1"):
            rig.hosts[name].power_off()
        rig.struck = (primary,)
        wait(60, "nobody has taken over", lambda: rig.leader() not in (None, primary))
        acknowledged = len(load.acknowledged)
        wait(60, "no submit is acknowledged", lambda: len(load.acknowledged) > acknowledged + 6)
        self.submit("ear", "ward-4", load.pictures[1:4])
        print(f"{rig.leader()} has taken over. For {load.silence(begin, time.monotonic()):.0f} s no submit was acknowledged; "
              f"after {time.monotonic() - begin:.0f} s w2 had done the jobs of a new one.")
        print(self.gateway(load.pictures[4]))

        say("The images move from the database to Ceph, while all goes on")
        print(self.where())
        self.control("office", "settings", "set", "image_store", "s3", "--yes")
        self.control("upgrades", "images", "migrate", "--to", "s3")
        print(self.where())

        say("Both machines have power again: the old primary follows the new one, the worker goes on")
        for name in (primary, "w1"):
            rig.hosts[name].power_on()
        rig.start_database(rig.hosts[primary])
        rig.start_worker("w1")
        rig.struck = ()
        wait(120, "the databases are not whole again", rig.is_whole)
        print(rig.patronictl("list"), end="", flush=True)

        say("The back-ends stop, and the workers do what is left")
        load.stop()
        if load.findings:
            raise RuntimeError(load.findings[0])
        wait(90, "jobs are left", lambda: self.number(
            "SELECT (SELECT count(*) FROM analysis.job) - (SELECT count(*) FROM analysis.result WHERE outcome = 1)") == 0)
        jobs, mine = (self.number(f"SELECT count(*) FROM analysis.job j JOIN analysis.result r ON r.shard = j.shard"
                                  f" AND r.period = j.period AND r.job_id = j.id WHERE {which}")
                      for which in ("true", "j.source_name LIKE 'k%'"))
        print(f"{len(load.acknowledged)} jobs of the back-ends were acknowledged, {load.repeats} submits were repeated under "
              f"their keys; {mine} of these jobs are there, each with one result, {jobs} in all. {self.where()}.")
        if mine != len(load.acknowledged):
            raise RuntimeError("what was acknowledged is not what is there")

        say("The month's reports, and whether all agrees: every count with the jobs, every image with its object")
        self.control("accounts", "report", "usage")
        self.control("accounts", "report", "conditions")
        self.control("accounts", "report", "usage", "--format", "csv", "--out", self.out / "usage.csv")
        self.control("clinician", "report", "analyses", "--format", "csv", "--out", self.out / "analyses.csv")
        self.control("auditor", "reconcile")
        self.control("auditor", "reconcile", "--images")
        self.control("auditor", "audit", "verify")
        print(f"Ceph says that {ceph.objects()} objects are in its bucket. The CSV files: {self.out}")

    def gateway(self, picture):
        """An app sends a photo; what it is answered, in a line."""
        token = json.loads(self.rig.control("office", "users", "token", "add", "clinic-7", "--json"))["secret"]
        wait(30, "the gateway is not ready", lambda: self.rig.is_ready(9466))
        answer = json.loads(run(
            ["curl", "--silent", "--max-time", "30", "--config", "-", "--form", "type=ear", "--form", f"image=@{picture}",
             "http://127.0.0.1:8090/api/analyze"], input=f'header = "Authorization: Bearer {token}"\n'))
        if "conditions" not in answer:
            raise RuntimeError(f"the gateway answers {answer}")
        found = max(answer["conditions"], key=lambda condition: condition["confidence"])
        return f"An app sends a photo to the gateway, and is answered: {found['name']}, {found['confidence']:.0%}."


def main():
    programs, out = sys.argv[1], pathlib.Path(sys.argv[2])
    begin = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        Demo(programs, out).run()
    except (RuntimeError, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as error:
        for log in pathlib.Path(tempfile.gettempdir()).glob("cluster-*/*.log"):
            shutil.copy(log, out)
        print(f"\nThe demo has failed: {error}. The programs' logs are in {out}.", file=sys.stderr)
        return 1
    print(f"\nAll of it took {time.monotonic() - begin:.0f} s.")
    return 0


if __name__ == "__main__":
    # Threads that still submit are not waited for.
    code = main()
    sys.stdout.flush()
    os._exit(code)
