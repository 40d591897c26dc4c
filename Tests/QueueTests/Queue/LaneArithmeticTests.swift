import Foundation
import Testing

@testable import Queue

@Suite("Lane and attempt numbers")
struct LaneArithmeticTests {
  /// How a lane is made of a type and a priority, and how attempts and losses share a number.
  private static let arithmetic = #"\* 4 \+|% 4 = 3|\blane / 4|& ~?255|>> 8|256 \*|\* 256"#

  @Test("are taken apart in one file of SQL, and by the check with which the table of jobs began")
  func oneFile() throws {
    let arithmetic = try Regex(Self.arithmetic)
    let files = ["doctor", "functions", "migrations", "persons", "queue", "reports", "users"].flatMap {
      folder in
      SQLFiles.files(in: folder).filter { $0.text.contains(arithmetic) }.map { "\(folder)/\($0.name)" }
    }
    // The shard of a user is made of two bytes of a hash, and a logo has numbers of two bytes: these are no lanes.
    #expect(
      files == [
        "functions/20_values/lanes", "functions/40_users/accounts", "functions/40_users/clinics",
        "migrations/0002_jobs",
      ])
  }
}
