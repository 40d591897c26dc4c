import Foundation
import QueueTestSupport
import TestSupport
import Testing

extension Trait where Self == ConditionTrait {
  /// Runs the test only where the server's programs are complete: another version's `pg_dump` does not serve.
  static var needsDump: Self {
    .enabled(if: ServerCluster.program("pg_dump") != nil, "this server came without pg_dump")
  }
}

extension QueueFixture {
  /// What tells a program where it is.
  var environment: [String: String] { ["ANALYSIS_DATABASE": database.conninfo] }

  /// All that is in the database, as pg_dump writes it.
  func dump() async throws -> String {
    let program = try #require(ServerCluster.program("pg_dump"))
    var environment = ProcessInfo.processInfo.environment
    environment["PGOPTIONS"] = "-c bytea_output=hex"
    let ended = await
      (try RunningProgram(
        program, ["-d", try await direct().database.conninfo], environment: environment)).ended()
    try #require(ended.status == 0, "\(ended.errors)")
    return String(decoding: ended.output, as: UTF8.self)
  }
}
