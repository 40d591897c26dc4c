import Glibc

/// A script of bash in a session of its own, whose standard input ends when this process does.
struct Supervisor: Sendable {
  /// The write end of the script's standard input.
  let lifeline: Int32
  private let output: Int32

  /// Closes what the script inherits by chance. It lives as long as this process: a connection of a test that
  /// it held open too would never end.
  static let closing = """
    for file in /proc/self/fd/*; do
      if [ "${file##*/}" -gt 2 ]; then eval "exec ${file##*/}>&-"; fi
    done

    """

  init(script: String, arguments: [String]) throws {
    var input: [Int32] = [0, 0]
    var output: [Int32] = [0, 0]
    guard pipe(&input) == 0, pipe(&output) == 0 else {
      throw TestSupportError("pipe failed with errno \(errno)")
    }
    // Closed on exec, so that no other program this process starts keeps the pipe open.
    for descriptor in input + output { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input[0], 0)
    posix_spawn_file_actions_adddup2(&actions, output[1], 1)
    posix_spawn_file_actions_adddup2(&actions, output[1], 2)
    // In a session of its own, so that an interrupt from the terminal does not reach the server.
    let words = ["setsid", "bash", "-c", Self.closing + script, "supervisor"] + arguments
    let pointers = words.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    var process = pid_t()
    let code = posix_spawnp(&process, "setsid", &actions, nil, pointers + [nil], environ)
    close(input[0])
    close(output[1])
    guard code == 0 else { throw TestSupportError("setsid could not be started: errno \(code)") }
    lifeline = input[1]
    self.output = output[0]
  }

  /// Waits for a line of the script's output; what there is of it when the script ends.
  func readLine() -> String {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  /// Lets the script go on after its input, and waits until it has ended; blocks.
  func end() {
    close(lifeline)
    var byte: UInt8 = 0
    while read(output, &byte, 1) == 1 {}
    close(output)
  }
}
