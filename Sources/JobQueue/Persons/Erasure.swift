/// What was removed of a person, by kind.
public struct Erasure: Sendable, Equatable {
  /// The number under which their counts stay.
  public let userID: Int64
  /// Jobs that have not ended; while there are any, nothing was removed.
  public var open: Int
  /// Jobs that were open and are cancelled.
  public var cancelled: Int
  /// Profiles: name, e-mail address, what the backend says.
  public var profiles: Int
  /// Images.
  public var images: Int
  /// How many bytes these had.
  public var imageBytes: Int
  /// Results whose content is gone.
  public var results: Int
  /// Dead jobs whose cause is gone.
  public var dead: Int
  /// Failed attempts whose words are gone.
  public var attempts: Int
  /// Jobs whose file name and key are gone.
  public var jobs: Int
  /// Idempotency keys.
  public var keys: Int
  /// Lines of closed statements that have a number instead of a name now.
  public var statementLines: Int
  /// Whether what came in meanwhile has been removed too; otherwise it has to be done again, by the number.
  public var isSettled = true
  /// Where their photo was, to be taken out of caches: all of it may be a secret.
  public var photo: String?

  /// What was removed in all by two passes over the same person, the other the later one.
  func adding(_ other: Erasure) -> Erasure {
    var sum = self
    sum.open = other.open
    sum.photo = photo ?? other.photo
    sum.cancelled += other.cancelled
    sum.profiles += other.profiles
    sum.images += other.images
    sum.imageBytes += other.imageBytes
    sum.results += other.results
    sum.dead += other.dead
    sum.attempts += other.attempts
    sum.jobs += other.jobs
    sum.keys += other.keys
    sum.statementLines += other.statementLines
    return sum
  }
}
