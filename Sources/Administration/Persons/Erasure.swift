/// What was removed of a person, by kind.
public struct Erasure: Sendable, Equatable {
  /// The number under which their counts stay.
  public let userID: Int64
  /// Jobs that have not ended; while there are any, nothing was removed.
  public let open: Int
  /// Jobs that were open and are cancelled.
  public let cancelled: Int
  /// Profiles: name, e-mail address, what the backend says.
  public let profiles: Int
  /// Images.
  public let images: Int
  /// How many bytes these had.
  public let imageBytes: Int
  /// Results whose content is gone.
  public let results: Int
  /// Dead jobs whose cause is gone.
  public let dead: Int
  /// Failed attempts whose words are gone.
  public let attempts: Int
  /// Jobs whose file name and key are gone.
  public let jobs: Int
  /// Idempotency keys.
  public let keys: Int
  /// Lines of closed statements that have a number instead of a name now.
  public let statementLines: Int
  /// Where their photo was, to be taken out of caches: all of it may be a secret.
  public let photo: String?
}
