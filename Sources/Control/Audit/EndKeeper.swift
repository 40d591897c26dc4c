import CommandLineTool
import EventLoop
import PostgreSQL
import Support

/// Keeps the end of the audit outside of the database when a command has moved it.
struct EndKeeper: Sendable {
  private let place: AuditEnds
  private let audit: AuditLog
  private let before: AuditMark?
  private let say: @Sendable (String) -> Void

  /// - Parameters:
  ///   - place: Where it is kept.
  ///   - say: Says that it could not be kept.
  init(_ place: AuditEnds, _ database: ConnectionPool, say: @escaping @Sendable (String) -> Void) async {
    self.place = place
    self.say = say
    audit = AuditLog(database)
    before = try? await audit.end().mark
  }

  /// Keeps the end if it is another than before. Where that fails, what the command did stays done, it is said, and
  /// what would have ended with 0 ends with 8.
  func finish(_ code: ExitCode) async -> ExitCode {
    do {
      let end = try await audit.end()
      if end.mark != before { try await Self.keep(end, in: place) }
      return code
    } catch {
      say(
        "The command has done its work, but the end of the audit could not be kept (audit-ends): "
          + printable("\(error)"))
      return code == .done ? .endNotKept : code
    }
  }

  /// Keeps an end.
  static func keep(_ end: KeptEnd, in place: AuditEnds) async throws {
    try await onThread { () throws(SystemError) in try place.keep(end) }
  }
}

/// Runs what blocks on a thread of its own.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws(SystemError) -> R) async throws -> R {
  let result = await HelperThread.value { () -> Result<R, SystemError> in
    do throws(SystemError) { return .success(try body()) } catch { return .failure(error) }
  }
  guard let result else { throw CommandFailure(.tryLater, "the system has no thread left") }
  return try result.get()
}

extension ValueFormat where Value == AuditEnds {
  /// A file, `journal` or `journal:NAME`.
  static var auditEnds: Self {
    ValueFormat(
      name: "FILE|journal", completion: .files,
      read: { AuditEnds($0) },
      else: "is no place for ends; give a file, journal, or journal:NAME with small letters, digits, _ and -",
      text: \.description)
  }
}
