import HTTPTransfer
import Synchronization

@testable import Control

/// Names whose addresses a test decides, and which remember each question.
final class Names: Sendable {
  private struct State {
    var answers: [[String]]
    var asked: [String] = []
  }

  private let state: Mutex<State>

  /// - Parameter answers: One for each question; the last is given again and again.
  init(_ answers: [String]...) {
    state = Mutex(State(answers: answers))
  }

  var asked: [String] { state.withLock { $0.asked } }

  var resolver: NameResolver {
    NameResolver { host in
      let answer = self.state.withLock { state in
        state.asked.append(host)
        return state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first ?? []
      }
      return answer.compactMap { IPAddress($0) }
    }
  }
}
