import PostgreSQL
public import Support

/// A picture of which somebody asks whether it is paid for already.
public struct PictureInQuestion: Sendable, Equatable {
  /// Whose it is.
  public var user: String
  /// What it shows.
  public var kind: AnalysisKind
  /// The key under which it would be submitted. A picture whose key is known is not submitted again.
  public var key: String?
  /// The hash under which it would be stored; nil for any picture of that type.
  public var sha256: [UInt8]?

  /// A picture with what is known of it.
  public init(user: String, kind: AnalysisKind, key: String?, sha256: [UInt8]?) {
    self.user = user
    self.kind = kind
    self.key = key
    self.sha256 = sha256
  }

  /// Asks for the indices of those that are paid for.
  static func statement(_ pictures: [PictureInQuestion], shard: Int16) -> Statement<[Int]> {
    Statement(
      SQLFunction("billed_before", 5),
      [
        .int16(shard), .array(pictures.map(\.user)), .array(pictures.map(\.kind.code)),
        .array(pictures.map(\.key)), .array(pictures.map(\.sha256)),
      ], as: [Int].self, while: "asking what is paid for already"
    ) { places in
      places.map { $0 - 1 }.filter(pictures.indices.contains)
    }
  }
}
