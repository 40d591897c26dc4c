import Control
import PostgreSQL
import Queue

/// A user of the run, with a name and an address that must never be in a log.
struct TestUser: Sendable, Equatable {
  let reference: String
  let plan: String
  let zone: String

  private static let zones = ["UTC", "Asia/Jakarta", "America/New_York", "Europe/Berlin"]

  /// Forty without a limit, and twelve with one that they soon reach.
  static let all: [TestUser] = (0..<52).map { number in
    TestUser(
      reference: number < 40 ? "clinic-\(number)" : "basic-\(number)", plan: number < 40 ? "premium" : "free",
      zone: zones[number % zones.count])
  }

  /// Those by whom something is measured, and of whom nobody else submits.
  static let probes = [WaitingProbe.user, Calm.user].map {
    TestUser(reference: $0, plan: "premium", zone: "UTC")
  }

  /// The name in the profile.
  var name: String { "Wilhelmina Quatremains \(reference)" }
  /// The address in the profile.
  var email: String { "\(reference)@patients.example" }

  /// What no log may hold of any user.
  static let secrets: [SecretSearch.Secret] = [
    .init("a user's name", "Quatremains"), .init("a user's e-mail address", "@patients.example"),
  ]

  func add(to database: ConnectionPool) async throws {
    _ = try await UserDirectory(database).add(
      NewUser(reference: reference, plan: plan, zone: zone, name: name, email: email))
  }
}
