import PostgreSQL
import Synchronization

@testable import Queue
@testable import Support

/// Submits jobs one after the other from several tasks, each under a key of its own, and remembers which were
/// acknowledged.
final class KeyedSubmits: Sendable {
  private struct State {
    var acknowledged: [String: JobID] = [:]
    var tried: Set<String> = []
    var isOver = false
  }

  private let state = Mutex(State())
  private let database: ConnectionPool
  private let picture: SubmittedImage

  init(_ database: ConnectionPool, _ picture: SubmittedImage) {
    self.database = database
    self.picture = picture
  }

  /// The job of each key that was acknowledged.
  var acknowledged: [String: JobID] { state.withLock { $0.acknowledged } }

  /// Every key under which something was submitted.
  var tried: Set<String> { state.withLock { $0.tried } }

  /// Lets the tasks end with the submit that they are at.
  func stop() { state.withLock { $0.isOver = true } }

  /// Submits until it is told to stop; what fails is not tried again here.
  func run(tasks: Int) async {
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for number in 0... {
            if self.state.withLock({ $0.isOver }) { return }
            let key = "\(task)-\(number)"
            self.state.withLock { _ = $0.tried.insert(key) }
            guard let job = try? await self.submit(key) else { continue }
            self.state.withLock { $0.acknowledged[key] = job }
          }
        }
      }
    }
  }

  /// Submits under a key, once; nil when it was refused.
  func submit(_ key: String) async throws -> JobID? {
    let submission = Submission(
      user: FailoverCluster.user, kind: .throat, image: picture, key: key)
    // Without repeats: an answer that is lost stays lost.
    let submitter = Submitter(database, limits: SubmitLimits(repeats: 0))
    switch try await submitter.submit([submission]).first {
    case .created(let job, _), .duplicate(let job): return job
    case .refused, nil: return nil
    }
  }
}
