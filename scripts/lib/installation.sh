# A private installation: a PostgreSQL, the stand-in endpoint, logins, programs. Sourced, not run; needs packages.sh,
# cluster.sh and programs.sh.
#
# start_installation NAME   builds the programs, then makes and starts all of it in a folder /tmp/NAME.…, `installation`;
#                           `address` is the endpoint's; the exit of the script stops everything and removes the folder
# start_program NAME LOGIN COMMAND...   runs a command in the background as a login; its output is in NAME.out and NAME.log
# await_line NAME SCRIPT    waits until sed -n SCRIPT finds something in those, and prints it
# say, run, run_as          show what is done

say() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }

# Shows a command and runs it; its exit code must be one of those that are expected (3, or 0,4).
run() {
  local expected=$1 code=0
  shift
  printf '$ %s\n' "$*"
  "$@" || code=$?
  case ",$expected," in
    *",$code,"*) ;;
    *)
      echo "The command above ended with exit code $code, not $expected." >&2
      exit 1
      ;;
  esac
}

# The same for a command that connects to the database as one of the logins.
run_as() {
  local role=$1 expected=$2
  shift 2
  printf 'as %-9s ' "$role"
  PGUSER=$role run "$expected" "$@"
}

start_program() {
  local name=$1 login=$2
  shift 2
  # Before the program has opened them somebody may look into them.
  : >"$installation/$name.out"
  : >"$installation/$name.log"
  PGUSER=$login "$@" >"$installation/$name.out" 2>"$installation/$name.log" &
  started+=("$!")
}

await_line() {
  local name=$1 process=${started[-1]} found
  for _ in $(seq 600); do
    found=$(sed -n "$2" "$installation/$name.out" "$installation/$name.log")
    [ -z "$found" ] || { echo "$found"; return; }
    kill -0 "$process" 2>/dev/null || break
    sleep 0.1 # there is nothing to wait on but the file
  done
  echo "$name does not run:" >&2
  cat "$installation/$name.log" >&2
  return 69
}

# By their own numbers, the last that was started first.
stop_installation() {
  local index
  trap '' INT TERM HUP
  for ((index = ${#started[@]} - 1; index >= 0; index--)); do kill "${started[index]}" 2>/dev/null || true; done
  for index in "${started[@]}"; do wait "$index" 2>/dev/null || true; done
  stop_cluster "$installation/cluster" || true
  rm -rf "$installation"
}

start_installation() {
  say "Building"
  release_programs analysis-worker analysisctl image-decoder statement-printer model-endpoint
  install_packages "${RUN_PACKAGES[@]}"
  PATH=$programs:$PATH

  # A short path, for the socket's sake. Others may pass through it and see nothing: as root the server is another's.
  started=()
  installation=$(mktemp -d "/tmp/$1.XXXXXX")
  chmod 0711 "$installation"
  trap stop_installation EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  local name
  for name in "${!PG@}" "${!ANALYSIS_@}"; do [ "$name" = ANALYSIS_POSTGRES ] || unset "$name"; done

  say "Starting a private PostgreSQL and the development endpoint"
  start_cluster "$installation/cluster"
  (
    umask 077
    head -c 18 /dev/urandom | base64 >"$installation/endpoint.password"
    printf 'email = worker@example.org\npassword = %s\n' "$(cat "$installation/endpoint.password")" \
      >"$installation/endpoint.credentials"
  )
  start_program endpoint "" model-endpoint --port 0 --require-auth \
    --account "worker@example.org:$installation/endpoint.password"
  address=$(await_line endpoint 's/^listening on //p')
  echo "PostgreSQL on the socket $PGHOST, the endpoint on $address"

  say "Making the schema, as the administrator"
  run 0 analysisctl migrate

  say "A login for each program and office, which may do its own and no more"
  mkdir -m 0700 "$installation/logins"
  run 0 analysisctl roles setup --out "$installation/logins"

  say "A key file: pictures are encrypted before the database has them"
  run 0 analysisctl keys new --key-file "$installation/image.keys"
}

# The options by which a worker finds the endpoint and the key.
worker_options() {
  printf '%s\n' --endpoint "http://$address" --credentials "$installation/endpoint.credentials" \
    --key-file "$installation/image.keys" --log-level notice
}
