import Control
import PostgreSQL
import Queue
import Support
import Synchronization
import TestSupport

/// The persons who are erased during a run, and nobody else.
final class ErasedPersons: Sendable {
  /// One of them.
  struct Person: Sendable, Equatable {
    let shard: Int16
    /// The number under which their counts stay.
    let number: Int64
    /// What they were called; nothing may be found under it in the end.
    let reference: String
  }

  /// What every reference begins with, and nothing else in the database.
  static let prefix = "vanishing-"

  private let state = Mutex<(made: Int, persons: [Person])>((0, []))

  /// Those whose erasure was carried through.
  var persons: [Person] { state.withLock { $0.persons } }

  /// Adds a person to be erased.
  func newPerson(in rig: Rig) async throws -> Person {
    let number = state.withLock { state in
      state.made += 1
      return state.made
    }
    let reference = "\(Self.prefix)\(number)"
    let added = try await UserDirectory(rig.owner).add(
      NewUser(
        reference: reference, plan: "premium", zone: "UTC", name: "Wilhelmina Quatremains \(reference)",
        email: "\(reference)@patients.example"))
    return Person(shard: added.shard, number: added.userID, reference: reference)
  }

  /// Erases a person as the privacy officer does, until it is done: by the number when an answer was lost. Not again after
  /// that.
  func erase(_ person: Person, in rig: Rig) async throws {
    let pool = ConnectionPool(
      ConnectionConfiguration(
        rig.conninfo(0, role: Rig.privacyRole), applicationName: "torture-privacy",
        connectTimeout: .seconds(3)),
      on: rig.loop, size: 1)
    let eraser = PersonEraser(pool)
    let patience = ContinuousClock.now + .seconds(90)
    var named = PersonEraser.Person.reference(person.reference)
    while true {
      do {
        _ = try await eraser.erase(named, cancelling: true, as: nil)
        break
      } catch {
        rig.tally.note("erasing \(person.number) failed: \(error)")
        // The transaction may have been committed.
        if error.code == .notFound { named = .number(person.number) }
        guard ContinuousClock.now < patience else {
          await pool.close()
          throw error
        }
        try? await Task.sleep(for: .milliseconds(300))
      }
    }
    await pool.close()
    state.withLock { $0.persons.append(person) }
  }
}
