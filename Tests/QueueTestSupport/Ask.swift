/// One job as a test submits it.
package struct Ask: Sendable {
  package var user: String
  package var kind: Int16 = 1
  package var priority: Int16 = 1
  /// The image's bytes; its hash is what the database makes of them.
  package var image = "photo"
  /// False: only the hash is given, and the image has to be there.
  package var withBytes = true
  package var key: String?
  package var at: Double?
  package var expires: Double?

  package init(
    _ user: String, kind: Int16 = 1, priority: Int16 = 1, image: String = "photo", withBytes: Bool = true,
    key: String? = nil, at: Double? = nil, expires: Double? = nil
  ) {
    self.user = user
    self.kind = kind
    self.priority = priority
    self.image = image
    self.withBytes = withBytes
    self.key = key
    self.at = at
    self.expires = expires
  }

  /// The same job so many times.
  package static func * (ask: Ask, count: Int) -> [Ask] {
    Array(repeating: ask, count: count)
  }
}
