# An empty Debian 12 in a folder, and how the commands of a document are run in it. Sourced, not run, by a script that is
# root and has mount and process namespaces of its own; needs packages.sh.
#
# make_root FOLDER            makes the Debian, by debootstrap; where `empty_root` names one, of a copy of that
# mount_root FOLDER           gives it /proc and /dev
# within_network              what is run in roots from here on has a network of its own, without a way outside
# in_root FOLDER PATH         runs the script that it reads, with the programs of PATH
# administer                  the same in `root`, as an administrator's shell does
# commands FILE FIRST [LAST [BLOCK]]
#                             the commands that a document shows in its numbered sections from one to another, or in the
#                             section with a title; of all blocks, or of one. The endpoint is the stand-in of the check
# start_unit UNIT             starts what a unit, or an instance of one (NAME@INSTANCE), starts in `root`: its command lines
#                             one after the other, as its user, with its environment and its credentials
# await SECONDS WHAT COMMAND  waits until the command succeeds; after so many seconds it fails and says WHAT
# start_endpoint              starts the stand-in endpoint in `root`, whose program is installed there
# say WORD...                 prints a heading

say() { printf '\n== %s\n' "$*"; }

make_root() {
  local folder=$1 mirror
  if [ -n "${empty_root:-}" ]; then
    cp -a "$empty_root" "$folder"
    return
  fi
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
  debootstrap bookworm "$folder" "${mirror:-http://deb.debian.org/debian}" >"$folder.log" 2>&1 ||
    { tail -n 20 "$folder.log" >&2; return 69; }
  # Nothing is started by the installation of its package: there is no service manager.
  printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
  # Enabling works without one. What else is asked of it is written down; the units that run are those of /run/units.
  cat >"$folder/usr/local/sbin/systemctl" <<'END'
#!/bin/sh
echo "$*" >>/run/systemctl.log
case "$1" in
  list-units) cat /run/units ;;
  --system | start | stop | restart | try-restart | daemon-reload) ;;
  enable) shift; [ "$1" != --now ] || shift; exec /usr/bin/systemctl enable "$@" ;;
  *) exec /usr/bin/systemctl "$@" ;;
esac
END
  chmod 0755 "$folder/usr/sbin/policy-rc.d" "$folder/usr/local/sbin/systemctl"
  touch "$folder/run/units"
  # Where apt's programs look for that first.
  echo 'DPkg::Path "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";' >"$folder/etc/apt/apt.conf.d/path"
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  mkdir "$folder/source"
}

mount_root() {
  mount -t proc proc "$1/proc"
  mount --rbind /dev "$1/dev"
}

within=()
within_network() {
  local ready
  exec {network}< <(unshare --net bash -c 'ip link set lo up; echo ready; exec sleep infinity')
  read -r ready <&"$network" && [ "$ready" = ready ]
  within=(nsenter "--net=/proc/$!/ns/net")
}

in_root() {
  local script
  script="set -euo pipefail; cd /source
$(cat)"
  env -i HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH="$2" "${within[@]}" chroot "$1" bash -c "$script"
}

administer() { in_root "$root" /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; }

commands() {
  awk -v first="$2" -v last="${3:-0}" -v block="${4:-0}" '
    /^## / { section = ($2 ~ /^[0-9]+\.$/) ? $2 + 0 : 0; titled = ($0 == "## " first); blocks = 0 }
    /^```/ {
      shown = ($0 == "```sh" && (titled || section && section >= first + 0 && section <= last))
      if (shown) shown = (++blocks == block || block == 0)
      next
    }
    shown' "$1" |
    sed 's|https://model.example.org|http://127.0.0.1:8090|; s|the password of that account|a password of the check|'
}

await() {
  local seconds=$1 what=$2 end
  shift 2
  end=$((SECONDS + seconds))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "After $seconds s: $what" >&2; return 1; }
    sleep 0.2
  done
}

start_unit() {
  local instance= template=$1 file credentials=/run/credentials/$1.service
  case "$1" in *@*) instance=${1#*@} template=${1%%@*}@ ;; esac
  file=/usr/lib/systemd/system/$template.service
  administer <<END
install -d -o analysis -g analysis -m 0500 $credentials
sed -n 's/^LoadCredential=//p' $file | sed 's|%i|$instance|g' | while IFS=: read -r name path; do
  install -o analysis -g analysis -m 0400 "\$path" $credentials/"\$name"
done
variables=\$(sed -n 's/^Environment=//p' $file | sed 's|%d|$credentials|g; s|%i|$instance|g')
user=\$(sed -n 's/^User=//p' $file)
successes=" 0 \$(sed -n 's/^SuccessExitStatus=//p' $file) "
mapfile -t commands < <(sed -n 's/^ExecStart=//p' $file | sed 's|%i|$instance|g')
umask 0077
as_unit() {
  exec setpriv --reuid "\$user" --regid "\$user" --init-groups --no-new-privs \
    env -i PATH=/usr/bin CREDENTIALS_DIRECTORY=$credentials \$variables "\$@"
}
last=\$((\${#commands[@]} - 1))
for command in "\${commands[@]:0:last}"; do
  code=0
  (as_unit \$command) || code=\$?
  case "\$successes" in *" \$code "*) ;; *) exit "\$code" ;; esac
done
as_unit \${commands[last]}
END
}

# The stand-in endpoint of the check in `root`, with the account that the documents name; its process is in
# /run/endpoint.pid there. It ends with the check.
start_endpoint() {
  administer <<'END' &
printf '%s' 'a password of the check' >/run/endpoint.password
chmod 0600 /run/endpoint.password
echo $$ >/run/endpoint.pid
exec model-endpoint --port 8090 --require-auth --account worker@example.org:/run/endpoint.password
END
  await 60 "the stand-in endpoint does not listen" endpoint_listens
}

endpoint_listens() { administer <<<'exec 3<>/dev/tcp/127.0.0.1/8090' 2>/dev/null; }
