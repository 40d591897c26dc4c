internal import Support
internal import Synchronization

/// How many of something each user has open at once.
final class OpenByUser: Sendable {
  /// One of them; it is given back when it is let go.
  final class Place: Sendable {
    private let all: OpenByUser
    private let user: UserKey

    fileprivate init(_ all: OpenByUser, _ user: UserKey) {
      (self.all, self.user) = (all, user)
    }

    deinit { all.giveBack(user) }
  }

  private let most: Int
  private let open = Mutex<[UserKey: Int]>([:])

  init(atMost most: Int) {
    self.most = most
  }

  /// Takes one more; nil where the user has as many as they may.
  func take(_ user: UserKey) -> Place? {
    let isTaken = open.withLock { open in
      guard open[user, default: 0] < most else { return false }
      open[user, default: 0] += 1
      return true
    }
    return isTaken ? Place(self, user) : nil
  }

  private func giveBack(_ user: UserKey) {
    open.withLock { open in
      let left = (open[user] ?? 1) - 1
      open[user] = left > 0 ? left : nil
    }
  }
}
