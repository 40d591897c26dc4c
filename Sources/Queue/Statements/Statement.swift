public import PostgreSQL

/// A call of the queue that has not been made: its SQL and parameters, and how its answer is read.
///
/// Several can be put in one pipeline: send each one's ``sql`` and give each answer to ``decode(_:)``.
public struct Statement<Output: Sendable>: Sendable {
  /// What is sent.
  public let sql: SQLStatement
  private let doing: String
  private let read: @Sendable (Rows) throws -> Output

  /// A call of a function.
  package init(
    _ function: SQLFunction, _ parameters: [Parameter], while doing: String,
    read: @escaping @Sendable (Rows) throws -> Output
  ) {
    self.init(function.text, parameters, doing, read)
  }

  /// A call whose answer is decoded by the names of a type's properties: an array has every row, an optional type the
  /// first one if there is any, and every other type the only one.
  ///
  /// - Parameters:
  ///   - beside: properties that the rows have no column for.
  ///   - read: what becomes of it.
  package init<Answer: Decodable & SendableMetatype>(
    _ function: SQLFunction, _ parameters: [Parameter] = [], as type: Answer.Type,
    beside: [String: (any Sendable)?] = [:], while doing: String,
    read: @escaping @Sendable (Answer) throws -> Output
  ) {
    self.init(function, parameters, while: doing) { rows in
      try read(rows.decode(type, prefix: SQLFunction.prefix, beside: beside))
    }
  }

  /// The same, where the answer is what was asked for.
  package init(
    _ function: SQLFunction, _ parameters: [Parameter] = [], as type: Output.Type,
    beside: [String: (any Sendable)?] = [:], while doing: String
  ) where Output: Decodable {
    self.init(function, parameters, as: type, beside: beside, while: doing) { $0 }
  }

  /// A call whose answer says nothing.
  package init(
    _ function: SQLFunction, _ parameters: [Parameter] = [], while doing: String
  ) where Output == Void {
    self.init(function, parameters, while: doing) { (_: Rows) in }
  }

  /// A statement of a file below `sql/`, which asks the server itself or the tables of the migrator.
  package init(
    file path: String, _ parameters: [Parameter] = [], while doing: String,
    read: @escaping @Sendable (Rows) throws -> Output
  ) {
    self.init(SQLFiles.required(path), parameters, doing, read)
  }

  private init(
    _ text: String, _ parameters: [Parameter], _ doing: String,
    _ read: @escaping @Sendable (Rows) throws -> Output
  ) {
    sql = SQLStatement(text, parameters, label: doing, isRepeated: true)
    self.doing = doing
    self.read = read
  }

  /// Reads the answer.
  ///
  /// - Throws: `unexpectedAnswer` when it is not what the schema promises.
  public func decode(_ rows: Rows) throws(JobQueueError) -> Output {
    do { return try read(rows) } catch { throw JobQueueError(error, while: doing) }
  }

  /// Reads one result of a pipeline.
  public func decode(_ result: Result<Rows, PostgreSQLError>) throws(JobQueueError) -> Output {
    switch result {
    case .success(let rows): return try decode(rows)
    case .failure(let error): throw JobQueueError(error, while: doing)
    }
  }

  /// Makes the call by itself.
  ///
  /// - Parameters:
  ///   - database: a connection, a pool or a transaction.
  ///   - deadline: how long it may take; nil for the connection's own.
  public func run(
    on database: some Queryable, deadline: Duration? = nil
  ) async throws(JobQueueError) -> Output {
    let rows: Rows
    do {
      rows = try await database.query(sql, deadline: deadline)
    } catch {
      throw JobQueueError(error, while: doing)
    }
    return try decode(rows)
  }
}

extension Statement {
  /// Makes the call in a transaction with the word of who acts, in one write; works through a pooler.
  ///
  /// - Parameters:
  ///   - database: a connection, a pool or a transaction.
  ///   - actor: who acts; nil leaves the audit with what the server knows itself.
  ///   - deadline: how long it may take; nil for the connection's own.
  public func run(
    on database: some Queryable, as actor: AuditActor?, deadline: Duration? = nil
  ) async throws(JobQueueError) -> Output {
    guard let actor else { return try await run(on: database, deadline: deadline) }
    let results: [Result<Rows, PostgreSQLError>]
    do {
      results = try await database.pipeline(
        [actor.statement, SQLStatement(sql.sql, sql.parameters, label: sql.label)], atomic: true,
        deadline: deadline)
    } catch {
      throw JobQueueError(error, while: sql.label ?? "asking the database")
    }
    guard let told = results.first, let answer = results.last, results.count == 2 else {
      throw JobQueueError(
        .unexpectedAnswer, "The database answered another number of statements than it got.")
    }
    // What kept the first from being carried out is why the second was not.
    if case .failure(let error) = told { throw JobQueueError(error, while: "saying who acts") }
    return try decode(answer)
  }
}

/// Who does something and why, as the audit records it. The database role and the client's address are not said: the
/// server knows them itself.
public struct AuditActor: Sendable, Equatable {
  /// The user of the operating system.
  public var user: String?
  var host: String?
  /// Why, as the operator wrote it.
  public var reason: String?

  /// Somebody, with what is known of them.
  public init(user: String?, host: String?, reason: String? = nil) {
    self.user = user
    self.host = host
    self.reason = reason
  }

  /// What tells the server, for the rest of its transaction.
  public var statement: SQLStatement {
    SQLStatement(
      SQLFunction("act_as", 3).text,
      [.text(user.map(storable)), .text(host.map(storable)), .text(reason.map(storable))],
      label: "saying who acts")
  }
}

/// A function of the schema `analysis`, as a program of ours calls it: the one place where the text of a call is made.
///
/// A test finds every one of these in the sources, and compares it with what the server has of the function.
public struct SQLFunction: Sendable {
  /// How the names of the columns begin that a function answers, where they are not those of a table.
  static let prefix = "o_"

  /// `SELECT column, … FROM analysis.name($1, …)`.
  public let text: String
  /// The columns that are read, in the order of the answer; none where the type into which it is decoded names them.
  private let columns: [String]
  private let name: String
  private let arguments: [String]

  /// A call.
  ///
  /// - Parameters:
  ///   - name: the function's name, without the schema's.
  ///   - arguments: how many arguments it is given.
  ///   - columns: those that are read one by one; none where a type names them.
  public init(_ name: String, _ arguments: Int, _ columns: String...) {
    self.init(name, (0..<arguments).map { "$\($0 + 1)" }, columns: columns)
  }

  private init(_ name: String, _ arguments: [String], columns: [String]) {
    self.name = name
    self.arguments = arguments
    self.columns = columns
    text = Self.text(name, arguments, columns)
  }

  /// The call of which one argument is a row: the parameters of its columns stand in that argument's place.
  func withRow(at place: Int, columns count: Int) -> SQLFunction {
    let numbers = (place..<place + count).map { "$\($0 + 1)" }
    let behind = (place + 1..<arguments.count).map { "$\($0 + count)" }
    return SQLFunction(
      name, arguments[..<place] + ["(\(numbers.joined(separator: ", ")))"] + behind, columns: columns)
  }

  private static func text(_ name: String, _ arguments: [String], _ columns: [String]) -> String {
    let selected = columns.isEmpty ? "*" : columns.joined(separator: ", ")
    return "SELECT \(selected) FROM analysis.\(name)(\(arguments.joined(separator: ", ")))"
  }
}
