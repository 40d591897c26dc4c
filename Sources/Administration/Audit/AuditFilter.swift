/// Which entries of the audit are meant; what is nil does not matter.
public struct AuditFilter: Sendable, Equatable {
  /// From this time on, in seconds since 1970.
  public var since: Double?
  /// Before this time.
  public var until: Double?
  /// What was done.
  public var action: String?
  /// About this user or a job of theirs: the reference, or `#` and the internal number of one who was erased.
  public var user: String?
  /// By this database role or user of the operating system.
  public var by: String?
  /// What it was done to, as an entry names it; `job:12` also finds the job among others.
  public var object: String?
  /// Before this entry, for the next page.
  public var before: Int64?

  /// A filter; without arguments, of all entries.
  public init(
    since: Double? = nil, until: Double? = nil, action: String? = nil, user: String? = nil, by: String? = nil,
    object: String? = nil, before: Int64? = nil
  ) {
    self.since = since
    self.until = until
    self.action = action
    self.user = user
    self.by = by
    self.object = object
    self.before = before
  }
}
