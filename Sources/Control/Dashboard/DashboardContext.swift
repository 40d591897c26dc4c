import HTTPServing
import PostgreSQL
import Queue
import Support

/// What pages and actions work with.
struct DashboardContext: Sendable {
  /// The database, as the login that started the dashboard or logged in to it.
  var database: ConnectionPool
  /// What all pages show at the bottom: as whom they were read, and of which database.
  let login: String
  let databaseName: String
  /// The verification of the audit that somebody began.
  let verification = AuditVerification()
  /// The shards, as they were chosen at installation.
  let shards: [Int16]
  /// What is said to whoever asks for reviews where the product has switched them off; nil: they are on.
  let reviewsRefusal: String?
  /// The request for which something is read.
  var visit = Visit.person
  private let monitor: QueueMonitor
  private let cache: ReadCache
  private let owner: ProcessOwner
  /// Gives a stored picture as it was before it was encrypted; throws `UnreadablePicture` where that is not possible.
  let openPicture: @Sendable (ExportedImage) async throws -> [UInt8]
  private let openPhoto: @Sendable (String) async -> [UInt8]?
  /// Photos, small: the browsers of a page ask for all of its users at once, and soon again.
  private let photos: ReadCache

  /// Asks who is logged in where.
  ///
  /// - Parameters:
  ///   - monitor: The queue, asked once for all browsers and for a monitoring system.
  ///   - owner: The user of the operating system who runs the dashboard, for the audit.
  ///   - reviewsRefusal: What is said where the product has switched reviews off: by what, and where.
  ///   - openPicture: Gives a stored picture as it was before it was encrypted, or throws `UnreadablePicture`.
  ///   - openPhoto: Gives the photo of an address as a small clean JPEG; nil where it is not at hand. It fetches nothing.
  init(
    _ database: ConnectionPool, _ monitor: QueueMonitor, owner: ProcessOwner, reviewsRefusal: String? = nil,
    openPicture: @escaping @Sendable (ExportedImage) async throws -> [UInt8] = { _ in
      throw UnreadablePicture("This dashboard shows no pictures.")
    },
    openPhoto: @escaping @Sendable (String) async -> [UInt8]? = { _ in nil },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) async throws {
    self.reviewsRefusal = reviewsRefusal
    self.openPicture = openPicture
    self.openPhoto = openPhoto
    cache = ReadCache(monitor.budget, now: now)
    photos = ReadCache(monitor.budget, now: now)
    self.database = database
    self.monitor = monitor
    self.owner = owner
    shards = try await ShardDirectory(database).shards()
    login = try await DatabaseLogin.read(database).name
    databaseName = try await Statement(
      file: "dashboard/where.sql", while: "asking for the database's name"
    ) { rows in try rows.single().string("name") }.run(on: database)
  }

  /// The same for a request.
  func visited(by request: HTTPRequest) -> DashboardContext {
    var context = self
    context.visit = Visit(request)
    return context
  }

  var jobs: JobDirectory { JobDirectory(database, shards: shards) }
  var batches: BatchDirectory { BatchDirectory(database, shards: shards) }

  /// That pages are read from a standby, and of when its last change is; nothing where the primary is read.
  func standbyText() async -> String {
    let isStandby = try? await database.withConnection(deadline: .seconds(1)) { await $0.isStandby }
    guard isStandby == true else { return "" }
    let reading = Reading(key: "standby", statements: 1, saysAge: false) { [database] in
      try await database.standbyChangedAt()
    }
    let changedAt = (try? await value(of: reading)) ?? nil
    return ", from a standby"
      + (changedAt.map { ", whose last change is of \(Moment.short($0.secondsSince1970))" } ?? "")
  }

  /// The queue, some seconds old: one statement for all browsers.
  ///
  /// - Throws: What the database said last, where it does not answer.
  func queue() async throws -> QueueView { try await monitor.current(for: visit) }

  /// Whether a reader has logged in with the login.
  var isOfReader: Bool { database.configuration.login != nil }

  /// What to do for other rights than the login's.
  var otherRights: String {
    isOfReader ? "Log in with another login that may." : "Start another dashboard as a login that may."
  }

  /// What was read a moment ago by whichever browser, or is read now.
  func value<Value>(of reading: Reading<Value>) async throws -> Value { try await aged(reading).value }

  /// The same, and how old it is where it is shown while it is read anew.
  func aged<Value>(_ reading: Reading<Value>) async throws -> (value: Value, age: Duration?) {
    try await cache.value(reading, for: visit)
  }

  /// The photo of an address as a small clean JPEG; nil where it is not at hand.
  func photo(_ url: String) async -> [UInt8]? {
    let reading = Reading(key: url, age: .seconds(60), statements: 0) { [openPhoto] in await openPhoto(url) }
    return (try? await photos.value(reading, for: visit).value) ?? nil
  }

  /// Has every page read anew, since something was changed.
  func forget() async {
    await cache.forget()
    await monitor.forget()
  }

  /// Whether this login has one of some roles, as of the last minute: a page offers what they allow.
  func has(_ roles: [DatabaseRole]) async throws -> Bool {
    try await login(noOlderThan: .seconds(60)).has(anyOf: roles)
  }

  /// What this login may do to jobs, as of the last minute.
  func jobRights() async throws -> JobRights { JobRights(try await login(noOlderThan: .seconds(60))) }

  /// Refuses a login that has none of some roles, before it fills in a form.
  func require(_ roles: [DatabaseRole]) async throws {
    let login = try await login()
    guard login.has(anyOf: roles) else { throw PageFailure(login, lacks: roles, self) }
  }

  /// Who is logged in, with the roles that the login had at most so long ago.
  func login(noOlderThan age: Duration = QueueMonitor.statusAge) async throws -> DatabaseLogin {
    // Two: names are looked for in the server's own schema, which is said before.
    try await value(
      of: Reading(key: "login", age: age, statements: 2, saysAge: false) { [database] in
        try await DatabaseLogin.read(database)
      })
  }

  /// Who acts, as the audit records it.
  func actor(reason: String?) -> AuditActor {
    AuditActor(user: owner.user, host: owner.host, reason: reason)
  }
}
