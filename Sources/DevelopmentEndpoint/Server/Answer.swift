/// What goes back to a client, and how.
struct Answer: Sendable {
  /// How the body is brought to the client.
  enum Delivery: Sendable {
    case whole
    /// The announced length is this many bytes more than there are.
    case truncated(missing: Int)
    /// So many bytes at a time, with a pause before each piece but the first.
    case dripped(piece: Int, pause: Duration)
    /// The connection is reset; nothing is sent.
    case reset
    /// Nothing is sent until the given time is over, then the connection is closed.
    case never(Duration)
  }

  var status: Int
  var headers: [(name: String, value: String)]
  var body: [UInt8]
  var delivery = Delivery.whole
  /// What statistics and log call it; nil takes the status.
  var outcome: String?

  init(status: Int = 200, contentType: String? = "application/json", body: [UInt8]) {
    self.status = status
    self.body = body
    headers = contentType.map { [("Content-Type", $0)] } ?? []
  }
}
