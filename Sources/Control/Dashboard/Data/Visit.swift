import HTTPServing
import Synchronization

/// A request for a page: whether a person asks or the page itself, and how old that is with which it is answered.
final class Visit: Sendable {
  /// What the address of a page has that loads itself anew without scripts.
  static let reloadMark = "live"

  /// Somebody who is answered at once.
  static let person = Visit(isLive: false)

  /// Whether the page that is open only brings itself up to date.
  let isLive: Bool
  private let oldest = Mutex<Duration?>(nil)

  init(isLive: Bool) {
    self.isLive = isLive
  }

  /// The visit of a request. The script says in a header that it asks. Without scripts the page is loaded by an address
  /// with a mark; where the browser says that a person has it loaded by that address, it is a person's.
  convenience init(_ request: HTTPRequest) {
    let isReload = request.query[Self.reloadMark] != nil && request.headers["sec-fetch-user"] != "?1"
    self.init(isLive: request.headers["x-live"] != nil || isReload)
  }

  /// Notes that something is shown which is older than it would be if it had been its turn.
  func note(_ age: Duration) { oldest.withLock { $0 = max($0 ?? .zero, age) } }

  /// How old the oldest of that is; nil where nothing is.
  var age: Duration? { oldest.withLock { $0 } }
}
