"""What scripts/check-kubernetes does with the chart: `manifests HELM`, and `run HELM RCLONE PROGRAMS FOLDER`."""
import http.server
import importlib
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse

import kubernetes_validate
import yaml

CHART = "jobs/kubernetes"
ENDPOINT = ["--set", "worker.endpoint=https://model.example.org"]
HOST = ["--set", "database.host=db.example.org"]
# On the first nothing answers.
HOSTS = ["--set", r"database.host=db0.example.org\,db.example.org"]
ALL = ["gateway.enabled=true", "monitoring.enabled=true", "monitoring.labels.release=prometheus", "worker.scaling.enabled=true"]
STORE = ["imageStore.secret=analysis-images"]
ROLE = r"imageStore.annotations.eks\.amazonaws\.com/role-arn=arn:aws:iam::1:role/images"
# What is rendered: the least that is needed, all of it, and all of it with the optional cluster.
VALUES = {
    "as they are": ENDPOINT + HOST,
    "with all parts": ENDPOINT + HOSTS + ["--set", ",".join(
        ALL + STORE + ["imageStore.audience=images", "database.addresses={10.0.0.0/24}", "image.digest=sha256:0"])],
    "with a cluster": ENDPOINT + ["--set", ",".join(ALL + STORE + [
        ROLE, "cluster.enabled=true", "dashboard.sessions=prefer-standby", "worker.scaling.minimum=0", "storageClass=fast"])],
    "with nobody allowed": ENDPOINT + HOST + ["--set", ",".join(ALL), "--set-json", "networkPolicy.proxies=[],networkPolicy.monitoring=[]"],
    "with few parts": ENDPOINT + HOST + ["--set", ",".join(
        f"{part}.enabled=false" for part in ("dashboard", "migrate", "report", "purge", "audit", "networkPolicy"))],
}
# A release of Kubernetes that is old, and the newest that the schemas have.
RELEASES = ["1.27", None]
# The schemas of kinds that are no part of Kubernetes.
OTHERS = {
    "keda.sh/v1alpha1": "cloudcoil.models.keda.v1alpha1",
    "monitoring.coreos.com/v1": "cloudcoil.models.prometheus_operator.v1",
}
# The unit of jobs that does the same, and the cron file.
UNITS = {"worker": "worker", "gateway": "gateway", "dashboard": "dashboard@", "report": "report", "purge": "purge", "audit": "audit"}
# Those that read, write or remove images.
OF_IMAGES = {"worker", "gateway", "dashboard", "purge"}
# As an installation with names that are refused: nobody's number here, and no group of anybody.
USER = 54321


def fail(message):
    sys.exit(f"{CHART}: {message}")


def rendered(helm, values):
    output = subprocess.run(
        [helm, "template", "release", CHART, "--namespace", "analysis"] + values, capture_output=True, text=True)
    if output.returncode != 0:
        fail(output.stderr.strip())
    return [document for document in yaml.safe_load_all(output.stdout) if document]


def templates(documents):
    """The part, and the pod with its labels, of each manifest that has one."""
    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] == "CronJob":
            spec = spec["jobTemplate"]["spec"]
        if "template" in spec:
            name = document["metadata"]["name"].removeprefix("release-")
            yield name, document, spec["template"]


def pods(documents):
    """The part, and the pod, of each manifest that has one."""
    return ((name, document, template["spec"]) for name, document, template in templates(documents))


def is_chosen(labels, chosen):
    """Whether a selector chooses a pod with these labels."""
    expressions = chosen.get("matchExpressions", [])
    exact = chosen if "matchLabels" not in chosen and not expressions else chosen.get("matchLabels", {})
    return exact.items() <= labels.items() and all(
        one["operator"] == "In" and labels.get(one["key"]) in one["values"] for one in expressions)


def lost(given, taken, path=""):
    """What a schema does not know of what is given."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(taken, dict) or key not in taken:
                yield f"{path}.{key}"
            else:
                yield from lost(value, taken[key], f"{path}.{key}")
    elif isinstance(given, list):
        for index, value in enumerate(given):
            yield from lost(value, taken[index], f"{path}[{index}]")


def check_schema(document, unknown):
    kind, version = document["kind"], document["apiVersion"]
    name = f"{kind} {document['metadata']['name']}"
    if "." not in version.split("/")[0] or version.split("/")[0].endswith(".k8s.io"):
        for release in RELEASES:
            try:
                kubernetes_validate.validate(document, release or kubernetes_validate.latest_version(), strict=True)
            except kubernetes_validate.ValidationError as error:
                fail(f"{name}: {error.message} ({release})")
        return
    try:
        model = getattr(importlib.import_module(OTHERS[version]), kind)
    except (KeyError, ImportError):
        unknown.add(kind)
        return
    try:
        taken = model.model_validate(document).model_dump(mode="json", by_alias=True)
    except ValueError as error:
        fail(f"{name}: {error}")
    for path in lost(document, taken):
        fail(f"{name}: no schema knows {path}")


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)([MG])i?", text).groups()
    return int(number) * {"M": 1 << 20, "G": 1 << 30}[unit]


def seconds_of(text):
    number, unit = re.fullmatch(r"(\d+)(s|min|h)", text).groups()
    return int(number) * {"s": 1, "min": 60, "h": 3600}[unit]


def check_pod(name, document, pod):
    """What keeps the units apart from their machine keeps the pods apart from theirs."""
    shared = pod["securityContext"]
    if not shared["runAsNonRoot"] or shared["runAsUser"] == 0 or shared["seccompProfile"]["type"] != "RuntimeDefault":
        fail(f"{name} can be root, or call what the runtime keeps from others")
    if pod["automountServiceAccountToken"] or pod["enableServiceLinks"]:
        fail(f"{name} gets a token or variables of the cluster that it does not need")
    if pod.keys() & {"hostNetwork", "hostPID", "hostIPC"} or any("hostPath" in volume for volume in pod["volumes"]):
        fail(f"{name} has something of the node")
    for container in pod["containers"] + pod.get("initContainers", []):
        own = container["securityContext"]
        if own != {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}:
            fail(f"{name} may do what its unit may not: {own}")
        variables = {variable["name"]: variable["value"] for variable in container.get("env", [])}
        if any(re.search("PASSWORD|SECRET|TOKEN$", variable) for variable in variables):
            fail(f"{name} has a secret in its environment")
        if "ANALYSIS_IMAGE_STORE" in variables and name not in OF_IMAGES:
            fail(f"{name} reaches the object store, and has nothing to do there")
        if ("ANALYSIS_IMAGE_STORE" in variables) != ("serviceAccountName" in pod):
            fail(f"{name} has no account by which it reaches the object store, or one for nothing")
        volumes = {volume["name"] for volume in pod["volumes"]}
        if not {mount["name"] for mount in container["volumeMounts"]} <= volumes:
            fail(f"{name} mounts a volume that it has not")
        for mount in container["volumeMounts"]:
            if mount["name"] == "credentials" and not mount["readOnly"]:
                fail(f"{name} can write its secrets")
    if name not in UNITS:
        return
    unit = open(f"jobs/analysis-{UNITS[name]}.service").read()
    value = lambda key: re.search(f"^{key}=(.*)$", unit, re.MULTILINE).group(1)
    container = pod["containers"][0]
    if bytes_of(container["resources"]["limits"]["memory"]) != bytes_of(value("MemoryMax")):
        fail(f"{name} has other memory than its unit")
    if document["kind"] == "Deployment":
        wait = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])[1]
        least = seconds_of(value("TimeoutStopSec")) if "TimeoutStopSec" in unit else 0
        if pod.get("terminationGracePeriodSeconds", 30) - int(wait) < least:
            fail(f"{name} is killed before its unit would be")
        return
    script = container["command"][-1]
    job = document["spec"]["jobTemplate"]["spec"]
    if job["activeDeadlineSeconds"] != seconds_of(value("TimeoutStartSec")):
        fail(f"{name} may take another time than its unit")
    lines = re.findall(rf"^((?:[0-9*,/-]+ +){{5}})[a-z]+ +(.*)$", open(f"jobs/analysis-{name}.cron").read(), re.MULTILINE)
    schedule, line = lines[0]
    if document["spec"]["schedule"] != schedule.strip():
        fail(f"{name} runs at another time than cron has it run")
    codes = lambda text: re.findall(r"in ([0-9|]+)\)", text)
    program = lambda text: re.findall(r"analysisctl (\w+ \w+|purge)", text)
    if program(script) != program(line):
        fail(f"{name} runs other commands than cron: {script}")
    allowed = set(re.findall(r"\d+", (re.search("^SuccessExitStatus=(.*)$", unit, re.MULTILINE) or [""])[0]))
    for listed in codes(script):
        if set(listed.split("|")) != allowed:
            fail(f"{name} takes the exit codes {listed} for no failure, and its unit others")
    if bool(codes(script)) != bool(allowed):
        fail(f"{name} and its unit do not take the same exit codes for no failure")


def manifests(helm):
    for refused in (HOST, ENDPOINT):
        if subprocess.run([helm, "template", CHART] + refused, capture_output=True).returncode == 0:
            fail(f"it is rendered with {refused} alone")
    unknown, count = set(), 0
    alerts = yaml.safe_load(open("jobs/alerts.yml"))
    for said, values in VALUES.items():
        lint = subprocess.run([helm, "lint", "--strict", CHART] + values, capture_output=True, text=True)
        if lint.returncode != 0:
            fail(f"helm lint {said}: {lint.stdout}{lint.stderr}")
        documents = rendered(helm, values)
        names = [(document["kind"], document["metadata"]["name"]) for document in documents]
        if len(set(names)) != len(names):
            fail(f"{said} two manifests have one name: {names}")
        for document in documents:
            count += 1
            check_schema(document, unknown)
            if document["kind"] == "NetworkPolicy" and not all(rule.get("from") for rule in document["spec"].get("ingress") or []):
                fail(f"{said} everybody reaches what NetworkPolicy {document['metadata']['name']} is for")
            if document["kind"] == "PrometheusRule" and document["spec"] != alerts:
                fail("the rules are not those of jobs/alerts.yml")
        labels = [template["metadata"]["labels"] for _, _, template in templates(documents)]
        for document in documents:
            spec = document.get("spec", {})
            chosen = spec.get("selector") or spec.get("podSelector")
            if isinstance(chosen, dict) and not any(is_chosen(own, chosen) for own in labels):
                fail(f"{document['kind']} {document['metadata']['name']} chooses no pod {said}")
        found = list(pods(documents))
        for name, document, pod in found:
            check_pod(name, document, pod)
        with_store = {name for name, _, pod in found if "serviceAccountName" in pod}
        if with_store != (OF_IMAGES if any("imageStore" in value for value in values) else set()):
            fail(f"{said} {with_store} reach the object store")
    print(f"kubernetes: {count} manifests sound; no schema here knows {', '.join(sorted(unknown)) or 'none'}")


def inside(container, folder, kept):
    """The command of a container, with its environment and its files, as a pod of it has them."""
    environment = {variable["name"]: variable["value"] for variable in container.get("env", [])}
    lines = ["set -euo pipefail", "mount -t tmpfs -o mode=0755 tmpfs /run", "mount -t tmpfs -o mode=0755 tmpfs /var/lib"]
    for mount in container["volumeMounts"]:
        path, own = mount["mountPath"], mount["name"]
        if own == "tmp":
            continue
        if own in ("credentials", "store"):
            source = f"{folder}/{'logins' if own == 'credentials' else own}/{mount['subPath']}"
            if mount["subPath"] == "pgpass":
                source = f"{folder}/logins/{environment['PGUSER']}.pgpass"
            lines += [f"install -D -o 0 -g {USER} -m 0440 {source} {path}"]
        elif own == "identity":
            # As the node makes it: a link to what it writes anew.
            lines += [f"install -D -o 0 -g {USER} -m 0440 {folder}/identity {path}/data/token", f"ln -s data/token {path}/token"]
        elif own == "authority":
            lines += [f"install -D -m 0444 {folder}/ca.crt {path}/ca.crt"]
        else:
            lines += [f"mkdir -p {path}", f"mount --bind {kept[path]} {path}"]
    lines += [
        f"mount -t tmpfs -o uid={USER},mode=0700 tmpfs /tmp", "mount -o remount,ro,bind /run", "mount -o remount,ro,bind /",
        f"as=(setpriv --reuid {USER} --regid {USER} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs)",
        # Not even who may write everywhere else can write here, or nothing is shown by what follows.
        "for place in / /run /var/tmp; do if touch $place/written 2>/dev/null; then echo $place can be written >&2; exit 1; fi; done",
        'exec "${as[@]}" "$@"']
    return environment, ["unshare", "--mount", "bash", "-c", "\n".join(lines), "-"] + container["command"]


def answers(port, probe, wanted):
    """Asks until the answer is as wanted, as the node asks: by the pod's address."""
    address = f"http://127.0.0.1:{port}{probe}"
    for _ in range(200):
        code = subprocess.run(
            ["curl", "--silent", "--max-time", "3", "--header", f"Host: 10.244.1.7:{port}", "--output", "/dev/null",
             "--write-out", "%{http_code}", address], capture_output=True, text=True).stdout
        if code == wanted:
            return
        time.sleep(0.1)  # there is nothing to wait on but the port
    fail(f"{address} answers {code}, and not {wanted}")


ACCESS_KEY, SECRET_KEY, TOKEN = "AKEXAMPLE", "a secret key", "a token of the node"


class KeyService(http.server.BaseHTTPRequestHandler):
    """Gives keys of the object store to who has the token, as the role's service does."""
    asked = 0

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if form["WebIdentityToken"] != [TOKEN] or form["RoleArn"] != ["arn:aws:iam::1:role/images"]:
            self.send_error(403)
            return
        KeyService.asked += 1
        answer = (f"<AccessKeyId>{ACCESS_KEY}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>"
                  "<SessionToken>session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


def start_store(rclone, folder):
    """An object store with an object that no image names, and what the programs know of it; its process and that object."""
    place = subprocess.run(
        ["psql", "-XAtqc", "SELECT o_prefix FROM analysis.image_store()"], capture_output=True, text=True, check=True).stdout.strip()
    orphan = f"{folder}/buckets/images/{place}202101/0a/{'0a' * 16}"
    os.makedirs(os.path.dirname(orphan))
    with open(orphan, "w") as file:
        file.write("of a submit that never came")
    os.utime(orphan, (time.time() - 3 * 86400,) * 2)
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), KeyService)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    store = subprocess.Popen(
        [rclone, "serve", "s3", "--auth-key", f"{ACCESS_KEY},{SECRET_KEY}", "--addr", "127.0.0.1:9000",
         "--vfs-cache-mode", "off", f"{folder}/buckets"], stderr=subprocess.PIPE, text=True)
    if not any("Starting s3 server" in line for line in store.stderr):
        fail("the object store does not start")
    os.makedirs(f"{folder}/store")
    with open(f"{folder}/store/image-store", "w") as file:
        file.write(f"address = http://127.0.0.1:9000/images\ncredentials = web-identity\nrole = arn:aws:iam::1:role/images\n"
                   f"key-service = http://127.0.0.1:{service.server_port}\n")
    with open(f"{folder}/identity", "w") as file:
        file.write(TOKEN)
    return store, orphan


def run(helm, rclone, programs, folder):
    kept = {}
    documents = rendered(helm, VALUES["with all parts"])
    for document in documents:
        for _, _, pod in pods([document]):
            for mount in pod["containers"][0]["volumeMounts"]:
                if mount["mountPath"].startswith("/var/lib/"):
                    kept[mount["mountPath"]] = f"{folder}/{os.path.basename(mount['mountPath'])}"
    for path, own in kept.items():
        os.makedirs(own, exist_ok=True)
        os.chown(own, 0, USER)
        os.chmod(own, 0o2770)
    store, orphan = start_store(rclone, folder)
    search = {"PATH": f"{programs}:/usr/bin:/bin"}
    began = []
    found = list(pods(documents))
    for name, document, pod in found:
        if document["kind"] == "Deployment":
            container = pod["containers"][0]
            environment, command = inside(container, folder, kept)
            process = subprocess.Popen(command, env=environment | search, stderr=subprocess.PIPE, text=True)
            began.append((name, pod, container, process))
    for name, pod, container, process in began:
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        try:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                asked = container[probe]["httpGet"]
                answers(ports[asked["port"]], asked["path"], "200")
            answers(ports.get("metrics", ports.get("http")), "/metrics", "200")
        except SystemExit:
            process.terminate()
            print(process.communicate()[1], file=sys.stderr)
            raise
    # The jobs while those run: first what makes the audit's file.
    for name, document, pod in sorted(found, key=lambda one: one[0] != "audit-begin"):
        if document["kind"] != "Deployment":
            environment, command = inside(pod["containers"][0], folder, kept)
            ended = subprocess.run(command, env=environment | search, capture_output=True, text=True)
            if ended.returncode != 0:
                fail(f"{name} ends with {ended.returncode}: {ended.stdout}{ended.stderr}")
    store.terminate()
    if KeyService.asked == 0 or os.path.exists(orphan):
        fail("the purge did not reach the object store by its role")
    if not os.path.getsize(f"{kept['/var/lib/analysis/audit']}/ends"):
        fail("the end of the audit was not kept")
    for name, pod, _, process in began:
        process.terminate()
        try:
            code, said = process.wait(pod.get("terminationGracePeriodSeconds", 30)), process.stderr.read()
        except subprocess.TimeoutExpired:
            fail(f"{name} does not stop in its time")
        if code != 0:
            fail(f"{name} ends with {code}: {said}")
    scaled = next(document for document in documents if document["kind"] == "ScaledObject")
    query = scaled["spec"]["triggers"][0]["metadata"]["query"]
    block = re.search(r"```sql\n(CREATE ROLE scaler.*?)```", open("docs/kubernetes.md").read(), re.DOTALL).group(1)
    subprocess.run(["psql", "-Xqv", "ON_ERROR_STOP=1", "-c", block], check=True)
    figure = subprocess.run(["psql", "-XAtqU", "scaler", "-c", query], capture_output=True, text=True)
    if not figure.stdout.strip().isdigit():
        fail(f"KEDA's query answers {figure.stdout}{figure.stderr}")
    print(f"kubernetes: {len(found)} commands ran as their pods would, an object of no image is gone; the backlog is {figure.stdout.strip()}")


if __name__ == "__main__":
    {"manifests": manifests, "run": run}[sys.argv[1]](*sys.argv[2:])
