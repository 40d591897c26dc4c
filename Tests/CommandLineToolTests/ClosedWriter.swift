import Glibc

@testable import CommandLineTool

/// A pipe whose reader is gone.
struct ClosedWriter: TextWriter {
  func write(_ text: String) throws(WriteError) {
    var ends: [Int32] = [-1, -1]
    signal(SIGPIPE, SIG_IGN)
    guard pipe(&ends) == 0 else { return }
    close(ends[0])
    defer { close(ends[1]) }
    try DescriptorWriter(ends[1]).write(text)
  }
}
