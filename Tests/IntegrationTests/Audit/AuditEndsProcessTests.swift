import Foundation
import QueueTestSupport
import TestSupport
import Testing

/// The ends are sent to a journal of the system that runs for this test alone, in a mount namespace of its own: what it
/// records of a sender is the kernel's word.
@Suite("The ends of the audit, by the real executables")
struct AuditEndsProcessTests {
  private static let daemon = "/lib/systemd/systemd-journald"

  /// A script that starts a journal and runs commands; `$0` is `analysisctl`. `keep` records something and keeps the end,
  /// `verify USER` compares with what a user kept, `as-nobody LINE` sends a line in another user's name.
  private static func script(_ commands: String) -> String {
    """
    set -u
    mkdir -p /run/systemd/journal /run/log /var/log/journal
    for folder in /run/systemd/journal /run/log /var/log/journal; do mount -t tmpfs none "$folder" || exit 90; done
    mkdir -p /run/log/journal
    [ -s /etc/machine-id ] || { echo 3d1219c7c4c5404aaa1f6d2a48adfda4 > /run/log/id; mount --bind /run/log/id /etc/machine-id; }
    \(daemon) >/dev/null 2>&1 &
    daemon=$!
    trap 'kill $daemon' EXIT
    until [ -S /run/systemd/journal/io.systemd.journal ]; do kill -0 $daemon || exit 91; sleep 0.05; done
    keep() { "$0" pause --type ear --audit-ends journal >&2 && "$0" audit keep --audit-ends journal >&2; echo "keep $?"; }
    verify() {
      journalctl --sync || exit 92
      "$0" audit verify --expect-from "${2:-journal}" --audit-ends-user "$1"; echo "verify $?"
    }
    as_nobody() {
      local id
      id=$(journalctl --sync && journalctl --output cat --output-fields MESSAGE_ID -n 1 ANALYSIS_AUDIT_NAME=analysis | tail -n 1)
      printf '%s\\n' "MESSAGE_ID=$id" _UID=0 ANALYSIS_AUDIT_NAME=analysis "ANALYSIS_AUDIT_END=$1" MESSAGE=x |
        setpriv --reuid 65534 --clear-groups logger --journald
    }
    \(commands)
    """
  }

  private func run(_ commands: String, _ queue: QueueFixture) async throws -> Executable.Ended {
    try await Executable(
      "analysisctl", [], environment: queue.environment,
      script:
        "exec unshare --mount --propagation private bash -c '\(Self.quoted(Self.script(commands)))' \"$0\""
    ).ended()
  }

  private static func quoted(_ text: String) -> String { text.replacing("'", with: "'\\''") }

  private static let canRun = FileManager.default.isExecutableFile(atPath: daemon)

  @Test(
    "sent to the journal they are compared with what one user sent, as the kernel says, and under one name",
    .needsMounting, .enabled(if: canRun, "systemd-journald is not installed (package systemd)"))
  func journal() async throws {
    try await withQueue { queue in
      let forged =
        "2026-11-23T06:30:00Z 3f0c8a52-0a4e-4b7e-9d55-0a1b2c3d4e5f 1:" + String(repeating: "9f", count: 32)
      let ended = try await run(
        """
        verify 0
        keep
        verify 0
        verify 65534
        as_nobody '\(forged)'
        verify 0
        verify 65534
        verify 0 journal:trial
        """, queue)
      #expect(ended.code == 0, "\(ended.messages)")
      let codes = ended.output.split(separator: "\n").filter { $0.contains(/^(keep|verify) [0-9]+$/) }
      #expect(
        codes == ["verify 1", "keep 0", "verify 0", "verify 1", "verify 0", "verify 1", "verify 1"],
        "\(ended.output) \(ended.messages)")
      #expect(ended.output.contains("Compared with 2 kept ends"), "\(ended.output)")
      #expect(ended.output.contains("ends of installation 3f0c8a52"), "\(ended.output)")

      // And what is cut off is found from there.
      let cut = try await run(
        """
        keep
        "$0" resume --type ear >&2
        verify 0
        psql --quiet "$ANALYSIS_DATABASE" -c "SET session_replication_role = replica" -c "DELETE FROM analysis.audit" \\
          -c "UPDATE analysis.audit_head SET id = 0, hash = first_previous"
        verify 0
        """, queue)
      let verdicts = cut.output.split(separator: "\n").filter { $0.hasPrefix("verify ") }
      #expect(verdicts == ["verify 0", "verify 1"], "\(cut.output) \(cut.messages)")
      #expect(cut.output.contains("is not there: the chain ends at 0"), "\(cut.output)")
    }
  }

  @Test(
    "where no journal runs that is said, though libsystemd would be silent", .needsMounting)
  func noJournal() async throws {
    try await withQueue { queue in
      let ended = try await Executable(
        "analysisctl", ["pause", "--type", "ear", "--audit-ends", "journal"],
        environment: queue.environment,
        script: MountNamespace.script("mkdir -p /run/systemd && mount -t tmpfs none /run/systemd")
      ).ended()
      #expect(ended.code == 8, "\(ended.messages)")
      #expect(ended.messages.contains("the system's journal cannot be reached"), "\(ended.messages)")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.pause") == 1)
    }
  }

  /// Starts the executable as another user.
  private static func script(as user: UInt32) -> String {
    "exec setpriv --reuid \(user) --regid \(user) --clear-groups \"$0\" \"$@\""
  }

  @Test(
    "in a file they are appended by who can neither read nor change it, and count for its owner",
    .needsMounting,
    .enabled("another user has to be able to start the programs") {
      try await Executable("analysisctl", ["--version"], script: script(as: 65534)).ended().code == 0
    })
  func file() async throws {
    try await withQueue { queue in
      // The server's own user, who alone reaches its socket beside root.
      var status = stat()
      stat(try await queue.text("SELECT current_setting('unix_socket_directories')"), &status)
      try #require(status.st_uid != 0)
      let other = Self.script(as: status.st_uid)
      let folder = try TemporaryFolder()
      let path = try folder.write("", to: "ends", mode: 0o620)
      chmod(folder.path, 0o755)
      chown(path, 0, status.st_uid)
      func run(_ words: [String], as script: String? = nil) async throws -> Executable.Ended {
        try await Executable("analysisctl", words, environment: queue.environment, script: script).ended()
      }
      let kept = try await run(["pause", "--audit-ends", path], as: other)
      #expect(kept.code == 0, "\(kept.messages)")
      #expect(try folder.text("ends").split(separator: "\n").count == 1)
      let words = ["audit", "verify", "--expect-from", path, "--audit-ends-user", "root"]
      let unread = try await run(words, as: other)
      #expect(unread.code == 66, "\(unread.messages)")
      let refused = try await run(words)
      #expect(refused.code == 77 && refused.messages.contains("chattr +a"), "\(refused.messages)")
      chmod(path, 0o600)
      let verified = try await run(words)
      #expect(
        verified.code == 0 && verified.output.contains("Compared with 1 kept ends"), "\(verified.output)")
      let closed = try await run(["resume", "--audit-ends", path], as: other)
      #expect(closed.code == 8 && closed.messages.contains("Permission denied"), "\(closed.messages)")
      #expect(try folder.text("ends").split(separator: "\n").count == 1)
    }
  }
}
