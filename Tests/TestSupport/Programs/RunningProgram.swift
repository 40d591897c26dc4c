public import Foundation
import Glibc
import Synchronization

/// A program that runs beside a test, which looks at what it writes, signals it and awaits its end.
///
/// Its input and output are files, since pipes of a size can wait for each other: `input`, `output` and `errors`
/// in a folder of its own.
public final class RunningProgram: Sendable {
  /// How a program ended.
  public struct Ended: Sendable {
    /// Its exit status, or the number of the signal that ended it.
    public let status: Int32
    /// Whether a signal ended it.
    public let wasKilled: Bool
    /// What it wrote to its standard output.
    public let output: [UInt8]
    /// What it wrote to its standard error.
    public let errors: String
  }

  /// The process's number.
  public let processID: Int32
  private let folder: TemporaryFolder
  private let end: End

  /// Starts a program.
  ///
  /// - Parameter environment: All of its environment; that of this process when nil.
  /// - Parameter input: What it reads from its standard input.
  /// - Parameter files: A folder to be made for its files, which stays; a temporary one when nil.
  public init(
    _ path: String, _ arguments: [String], environment: [String: String]? = nil, input: [UInt8] = [],
    directory: URL? = nil, files kept: URL? = nil
  ) throws {
    let folder = if let kept { try TemporaryFolder(kept: kept) } else { try TemporaryFolder() }
    let files = ["input", "output", "errors"].map { URL(fileURLWithPath: folder.path($0)) }
    try Data(input).write(to: files[0])
    for file in files[1...] { try Data().write(to: file) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    if let environment { process.environment = environment }
    process.currentDirectoryURL = directory
    let handles = [
      try FileHandle(forReadingFrom: files[0]), try FileHandle(forWritingTo: files[1]),
      try FileHandle(forWritingTo: files[2]),
    ]
    // The program has them from its start on; here they would stay open for as long as the tests run.
    defer { for handle in handles { try? handle.close() } }
    (process.standardInput, process.standardOutput, process.standardError) = (
      handles[0], handles[1], handles[2]
    )
    let end = End()
    // The handler holds the folder, so that there is something to read also when nobody awaits the end.
    process.terminationHandler = { process in
      end.set(
        Ended(
          status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
          output: (try? folder.bytes("output")) ?? [],
          errors: String(decoding: (try? folder.bytes("errors")) ?? [], as: UTF8.self)))
    }
    try process.run()
    processID = process.processIdentifier
    self.folder = folder
    self.end = end
  }

  /// A program that nobody can look at any more, for instance since its test failed, is killed.
  deinit {
    if !end.isSet { send(SIGKILL) }
  }

  /// Whether it has ended.
  public var hasEnded: Bool { end.isSet }

  /// Waits for its end, on no thread.
  public func ended() async -> Ended {
    // Whoever waits keeps it running, also where nobody else holds it.
    defer { withExtendedLifetime(self) {} }
    return await end.value()
  }

  /// Sends it a signal.
  public func send(_ signal: Int32) { _ = kill(processID, signal) }

  /// What it has written to its standard output so far.
  public var outputSoFar: String { String(decoding: (try? folder.bytes("output")) ?? [], as: UTF8.self) }

  /// What it has written to its standard error so far.
  public var errorsSoFar: String { String(decoding: (try? folder.bytes("errors")) ?? [], as: UTF8.self) }

  /// Waits until the first line of its standard output is whole, and gives it without its end.
  ///
  /// There is nothing to wait on but the file, so it is looked at again and again.
  ///
  /// - Throws: `TestSupportError` when the program ends without a line, or `patience` passes.
  public func firstLine() async throws -> String {
    let limit = ContinuousClock.now + patience
    while true {
      let hasEnded = end.isSet
      let lines = outputSoFar.split(separator: "\n", omittingEmptySubsequences: false)
      if let line = lines.first, lines.count > 1 { return String(line) }
      guard !hasEnded, ContinuousClock.now < limit else {
        throw TestSupportError("The program wrote no line; its messages: \(errorsSoFar)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// The process's end, which may come before or after somebody waits for it.
  private final class End: Sendable {
    private struct State {
      var ended: Ended?
      var waiting: [CheckedContinuation<Ended, Never>] = []
    }

    private let state = Mutex(State())

    var isSet: Bool { state.withLock { $0.ended != nil } }

    func set(_ ended: Ended) {
      let waiting = state.withLock { state in
        state.ended = ended
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume(returning: ended) }
    }

    func value() async -> Ended {
      await withCheckedContinuation { continuation in
        let ended = state.withLock { state -> Ended? in
          if state.ended == nil { state.waiting.append(continuation) }
          return state.ended
        }
        if let ended { continuation.resume(returning: ended) }
      }
    }
  }
}
