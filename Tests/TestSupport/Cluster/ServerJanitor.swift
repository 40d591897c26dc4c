/// Ends a cluster's server and removes its folders when the process that made it ends or says so.
enum ServerJanitor {
  /// $1 the cluster's folder, $2 its data folder, in which every process of the server works.
  static let script = """
    folder=$1 data=$2
    trap '' INT TERM HUP
    exec 2>/dev/null
    cd /
    processes() {
      for process in /proc/[0-9]*; do
        if [ "$process/cwd" -ef "$data" ]; then echo "${process##*/}"; fi
      done
    }
    read -r end
    all=$(processes)
    if [ -n "$all" ]; then
      # In order if possible: a server that is killed leaves its shared memory behind. A frozen process
      # would hold it up.
      kill -CONT $all
      read -r server <"$data/postmaster.pid"
      if printf '%s\\n' $all | grep -qx "$server"; then kill -QUIT "$server"; fi
      tries=0
      while [ -n "$(processes)" ] && [ $tries -lt 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
      done
      all=$(processes)
      if [ -n "$all" ]; then kill -KILL $all; fi
    fi
    rm -rf "$data" "$folder"
    """
}
