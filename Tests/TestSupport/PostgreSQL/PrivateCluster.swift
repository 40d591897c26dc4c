import Dispatch
import Glibc

/// A PostgreSQL cluster of the test process's own, on a Unix socket in a folder of its own.
///
/// It is run by a small shell whose standard input is a pipe that only this process holds: when the
/// process ends, however it ends, the shell reads the end of the pipe, stops the server and removes the
/// folder.
struct PrivateCluster: Sendable {
  /// How to reach it, but for the database.
  let conninfo: String
  /// The pipe's end; never closed by us.
  private let lifeline: Int32

  /// Makes and starts a cluster; blocks, so it runs on a queue of its own.
  static func start() async throws -> PrivateCluster {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "private-cluster").async {
        continuation.resume(with: Result { try startBlocking() })
      }
    }
  }

  private static func startBlocking() throws -> PrivateCluster {
    let programs = try programFolder()
    var template = Array("/tmp/aqtest-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSupportError("mkdtemp failed with errno \(errno)") }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let process = try Supervisor(script: script, arguments: [programs, folder, ordinaryUser()])
    let answer = process.readLine()
    guard answer == "ready" else { throw TestSupportError("No PostgreSQL server for the tests: \(answer)") }
    return PrivateCluster(conninfo: "host=\(folder) port=5432 user=postgres", lifeline: process.lifeline)
  }

  /// The server refuses to run as root.
  private static func ordinaryUser() -> String {
    guard geteuid() == 0 else { return "" }
    return ["postgres", "nobody"].first { getpwnam($0) != nil } ?? "nobody"
  }

  /// Where `initdb` and `postgres` are: Debian keeps them out of PATH.
  private static func programFolder() throws -> String {
    var folders: [String] = []
    var found = glob_t()
    defer { globfree(&found) }
    if glob("/usr/lib/postgresql/*/bin", 0, nil, &found) == 0 {
      for index in 0..<Int(found.gl_pathc) {
        if let path = found.gl_pathv[index] { folders.append(String(cString: path)) }
      }
    }
    // The newest first, by number: 15 before 9.6.
    folders.sort { version($0) > version($1) }
    if let path = getenv("PATH") { folders += String(cString: path).split(separator: ":").map(String.init) }
    let isComplete = { (folder: String) in
      access("\(folder)/initdb", X_OK) == 0 && access("\(folder)/postgres", X_OK) == 0
    }
    guard let folder = folders.first(where: isComplete) else {
      throw TestSupportError("initdb was not found; install postgresql, or set ANALYSIS_TEST_SERVER")
    }
    return folder
  }

  private static func version(_ folder: String) -> Double {
    folder.split(separator: "/").compactMap { Double($0) }.first ?? 0
  }

  /// $1 the programs' folder, $2 the cluster's folder, $3 the user to run as, or nothing.
  private static let script = """
    programs=$1 folder=$2 user=$3
    trap '' INT TERM HUP
    as_user() {
      if [ -z "$user" ]; then exec "$@"
      elif command -v setpriv >/dev/null; then
        exec setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups -- "$@"
      else exec runuser -u "$user" -- "$@"
      fi
    }
    fail() { echo "$1: $(tail -n 3 "$folder/log" | tr '\\n' ' ')"; rm -rf "$folder"; exit 1; }
    if [ -n "$user" ]; then chown "$user" "$folder" || fail chown; fi
    cd "$folder" || fail cd
    (as_user "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C -N \\
      --no-instructions) >>"$folder/log" 2>&1 || fail initdb
    # One role that has to give its password; the others are trusted.
    sed -i '1i local all needs_password scram-sha-256' "$folder/data/pg_hba.conf" || fail pg_hba
    (as_user "$programs/postgres" -D "$folder/data" -k "$folder" -p 5432 -c listen_addresses= \\
      -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c wal_level=minimal \\
      -c max_wal_senders=0 -c max_connections=300 -c max_locks_per_transaction=256 -c timezone=UTC \\
      -c lc_messages=C -c max_wal_size=2GB -c log_min_messages=fatal \\
      ) >>"$folder/log" 2>&1 </dev/null &
    server=$!
    tries=0
    until "$programs/pg_isready" -q -h "$folder" -p 5432 -U postgres; do
      tries=$((tries + 1))
      if [ $tries -gt 600 ] || ! kill -0 $server 2>/dev/null; then kill -QUIT $server; fail postgres; fi
      sleep 0.05
    done
    echo ready
    exec >/dev/null 2>&1
    read -r end
    kill -QUIT $server
    wait $server
    cd /
    rm -rf "$folder"
    """
}
