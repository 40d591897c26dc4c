import Foundation
import TestSupport
import Testing

extension Installation {
  /// All that is in the database, as pg_dump writes it.
  func dump() async throws -> String {
    let program = try #require(HelperProgram.find("/usr/bin/pg_dump", "/usr/local/bin/pg_dump"))
    let ended = await
      (try RunningProgram(
        program, ["-d", database.conninfo], environment: ProcessInfo.processInfo.environment)).ended()
    try #require(ended.status == 0, "\(ended.errors)")
    return String(decoding: ended.output, as: UTF8.self)
  }
}
