import CommandLineTool
import Images
import PostgreSQL
import Queue
import Support

/// A user's token as it is kept: without its hash.
struct TokenRecord: Sendable, Equatable, Decodable {
  /// Its number among the user's.
  let number: Int
  /// What the office calls it.
  let label: String?
  /// The login that added it.
  let createdBy: String
  /// Seconds since 1970, here and below.
  let createdAt: Double
  /// Nil: it does not expire.
  let expiresAt: Double?
  /// Nil: it was not revoked.
  let revokedAt: Double?
  /// The day of its last use, by UTC, as `2026-10-01`; nil: it was not used.
  let lastUsedOn: String?
  /// `valid`, `expired` or `revoked`.
  let state: String
  /// Whether it is a session that the user's app began by a code.
  let isSession: Bool
}

/// The tokens of users, by which their apps reach the gateway.
struct TokenDirectory: Sendable {
  private let database: ConnectionPool

  /// The tokens of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Adds a token of a user by its hash, and answers its number.
  ///
  /// - Parameters:
  ///   - shard: the user's shard.
  ///   - expiresAt: when it expires, in seconds since 1970; nil for never.
  /// - Throws: `notFound` for a user whom the login does not see; `badRow` for a label or a time that cannot be.
  func add(
    _ hash: [UInt8], of user: String, inShard shard: Int16, label: String?, expiresAt: Double?,
    by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Int {
    let number = try await Statement(
      SQLFunction("add_token", 5),
      [
        .int16(shard), .text(user), .bytes(hash), .text(label.map(storable)),
        .timestamp(timestamp(expiresAt)),
      ], as: Int?.self, while: "adding a token of user \(user)"
    ).run(on: database, as: actor)
    guard let number else { throw UserDirectory.unknown(user) }
    return number
  }

  /// Makes a code of a user by its hash, in place of one that there is, and answers until when it counts, in seconds
  /// since 1970.
  ///
  /// - Throws: `notFound` for a user whom the login does not see.
  func addCode(
    _ hash: [UInt8], of user: String, inShard shard: Int16, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Double {
    let expiresAt = try await Statement(
      SQLFunction("add_login_code", 3), [.int16(shard), .text(user), .bytes(hash)], as: Double?.self,
      while: "making a code for user \(user)"
    ).run(on: database, as: actor)
    guard let expiresAt else { throw UserDirectory.unknown(user) }
    return expiresAt
  }

  /// The tokens and sessions of a user, by number.
  func list(of user: String) async throws(JobQueueError) -> [TokenRecord] {
    let shard = try await ShardDirectory(database).shard(of: user)
    return try await Statement(
      SQLFunction("list_tokens", 2), [.int16(shard), .text(user)], as: [TokenRecord].self,
      while: "listing the tokens of user \(user)"
    ).run(on: database)
  }

  /// Revokes a token of a user, or all of them, and answers how many were valid.
  ///
  /// - Parameter number: the token's; nil for all.
  /// - Throws: `notFound` for a user whom the login does not see, and for a token that there is not.
  func revoke(
    _ number: Int?, of user: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Int {
    let shard = try await ShardDirectory(database).shard(of: user)
    let count = try await Statement(
      SQLFunction("revoke_tokens", 3),
      [.int16(shard), .text(user), .int32(number.map { Int32(clamping: $0) })], as: Int?.self,
      while: "revoking tokens of user \(user)"
    ).run(on: database, as: actor)
    guard let count else {
      guard let number else { throw UserDirectory.unknown(user) }
      throw JobQueueError(
        .notFound, "There is no token \(number) of a user \(user).",
        advice: "Look with analysisctl users token list.")
    }
    return count
  }
}

enum UsersTokenCommand {
  static let command = ControlCommand(
    "token", abstract: "Make, list and revoke the tokens by which a user's app reaches the gateway.",
    discussion: """
      With a token an app submits images of its user and reads their analyses, through analysis-gateway, and nothing \
      of anybody else. The database keeps only a hash of it. An app that logs in by a code (analysisctl users code) has \
      a session, which is listed and revoked here too.
      """,
    examples: [
      Example("analysisctl users token add u1 --label phone --expires 90d", "Make one, and print it."),
      Example("analysisctl users token list u1", "Which there are, and when they were used."),
      Example("analysisctl users token revoke u1 2", "It opens nothing any more."),
    ],
    subcommands: [
      UsersTokenAddCommand.command, UsersTokenListCommand.command, UsersTokenRevokeCommand.command,
    ])
}

/// `analysisctl users token add`.
enum UsersTokenAddCommand {
  static let label = Option<String?>(
    "label", .string, help: "What the token is for, such as phone: 1 to 100 characters.")
  static let expires = Option<Expiry?>(
    "expires", .expiry,
    help:
      "When it ends: after a time (90d), with a day (2026-12-31, by UTC) or at a time. Never unless given.")

  static let command = ControlCommand(
    "add", abstract: "Make a token of a user, and print it.",
    discussion: """
      The token is printed this once, and kept nowhere. Give it to the user's app, which sends it as \
      Authorization: Bearer. Who has it reads the user's analyses.
      """,
    examples: [
      Example("analysisctl users token add u1", "One that holds until it is revoked."),
      Example("analysisctl users token add u1 --label phone --expires 90d", "One that ends by itself."),
    ],
    inputs: [label, expires, ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, label) = (try context[UsersCommand.user], try context[label])
    let expires = try context[expires]
    return try await context.withSession { session in
      let expiresAt = try await expires?.moment(session.database)
      let token = try UserToken(shard: try await ShardDirectory(session.database).shard(of: user))
      let number = try await TokenDirectory(session.database).add(
        token.hash, of: user, inShard: token.shard, label: label, expiresAt: expiresAt, by: session.actor)
      return try session.show(
        [
          "user": .string(user), "token": .count(number), "secret": .string(token.text),
          "expires_at": .time(expiresAt),
        ],
        """
        added token \(number) of \(printable(user))\(expiresAt.map { ", until \(Moment.short($0))" } ?? "")
        \(token.text)
        The token is shown this once. Give it to the user's app.

        """)
    }
  }
}

/// `analysisctl users token list`.
enum UsersTokenListCommand {
  static let command = ControlCommand(
    "list", abstract: "List the tokens and sessions of a user.",
    discussion: """
      The token itself is shown by none: the database does not have it. LAST USED is a day by UTC.
      """,
    examples: [
      Example("analysisctl users token list u1", "All of a user, by number."),
      Example("analysisctl users token list u1 --json", "For a program."),
    ],
    inputs: [UsersCommand.user], exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let user = try context[UsersCommand.user]
    return try await context.withSession { session in
      _ = try await UserDirectory(session.database).required(user)
      let tokens = try await TokenDirectory(session.database).list(of: user)
      return try session.show(UsersTokenListResponse(user: user, tokens: tokens))
    }
  }
}

/// The tokens of a user.
struct UsersTokenListResponse: Sendable, Equatable, Presentable {
  let user: String
  let tokens: [TokenRecord]

  private static let columns: [ListColumn<TokenRecord>] = [
    .init("TOKEN", alignment: .right) { Cell($0.number) }.json("token") { .count($0.number) },
    .init("LABEL", shrinks: true) { Cell($0.isSession ? "app: \($0.label ?? "no name")" : $0.label ?? "") }
      .json("label") { .text($0.label) },
    .init("STATE") { Cell($0.state, $0.state == "valid" ? nil : .red) }.json("state") { .string($0.state) },
    .init("ADDED") { Cell(String(Moment.short($0.createdAt).prefix(10))) }
      .json("added_at") { .time($0.createdAt) }
      .json("added_by") { .string($0.createdBy) },
    .init("EXPIRES") { Cell($0.expiresAt.map { Moment.short($0) } ?? "never") }
      .json("expires_at") { .time($0.expiresAt) },
    .init(json: "revoked_at") { .time($0.revokedAt) },
    .init("LAST USED") { Cell($0.lastUsedOn ?? "never") }.json("last_used_on") { .text($0.lastUsedOn) },
    .init(json: "session") { .bool($0.isSession) },
  ]

  var json: JSONValue { ["user": .string(user), "tokens": tokens.json(Self.columns)] }

  func text(width: Int?, paint: Paint) -> String {
    guard !tokens.isEmpty else { return "No tokens.\n" }
    return tokens.table(Self.columns).render(width: width, paint: paint)
  }
}

/// `analysisctl users token revoke`.
enum UsersTokenRevokeCommand {
  static let number = Argument<Int?>(
    optional: "token", .int(in: 1...Int(Int32.max)),
    help: "The token's number; see analysisctl users token list.")
  static let all = Flag(
    "all",
    help: "All tokens and sessions of the user, and a code that was not used, as when a device was lost.")

  static let command = ControlCommand(
    "revoke", abstract: "Revoke a token or session of a user, or all of them.",
    discussion:
      "Nothing is asked with it any more; what the gateway has begun goes on. A token is never valid again.",
    examples: [
      Example("analysisctl users token revoke u1 2", "One."),
      Example("analysisctl users token revoke u1 --all --reason phone-lost", "All."),
    ],
    inputs: [all, ReasonOption.reason, UsersCommand.user, number],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, number) = (try context[UsersCommand.user], try context[number])
    guard (number == nil) == (try context[all]) else {
      throw CommandFailure.usage("give either the number of a token or --all")
    }
    return try await context.withSession { session in
      let count = try await TokenDirectory(session.database).revoke(number, of: user, by: session.actor)
      let text =
        switch count {
        case 0: "no token of \(printable(user)) was valid\n"
        case 1: "revoked a token of \(printable(user))\n"
        default: "revoked \(count) tokens of \(printable(user))\n"
        }
      return try session.show(["user": .string(user), "revoked": .count(count)], text)
    }
  }
}
