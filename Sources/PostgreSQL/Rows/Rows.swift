internal import Clibpq

/// The rows that answer a statement, and what the server says of the command.
public struct Rows: RandomAccessCollection, Sendable {
  private let result: ServerResult

  /// How many rows there are.
  public let count: Int

  init(_ result: ServerResult) {
    self.result = result
    count = result.rowCount
  }

  /// The position of the first row.
  public var startIndex: Int { 0 }
  /// The position past the last row.
  public var endIndex: Int { count }

  /// A row by its position, from 0.
  public subscript(position: Int) -> Row {
    precondition(indices.contains(position), "There is no row \(position) among \(count).")
    return Row(result: result, index: position)
  }

  /// How many rows the command inserted, updated, deleted, copied or answered.
  public var affectedRows: Int { result.affectedRows }

  /// The server's name for what it did, for instance `INSERT 0 1`.
  public var command: String { result.command }

  /// The columns' names, in order.
  public var columnNames: [String] { (0..<result.columnCount).map(result.columnName) }

  /// The position of a column, for answers with many rows: it is looked up once and not for each of them.
  ///
  /// - Throws: `noSuchColumn`.
  public func position(of column: String) throws(PostgreSQLError) -> Int {
    guard let position = result.column(named: column) else {
      throw PostgreSQLError(
        .noSuchColumn, "The answer has no column \(column); it has: \(columnNames.joined(separator: ", ")).")
    }
    return position
  }

  /// The only row.
  ///
  /// - Throws: `unexpectedResult` when there is none, or more than one.
  public func single() throws(PostgreSQLError) -> Row {
    guard count == 1 else {
      throw PostgreSQLError(.unexpectedResult, "One row was expected and \(count) came.")
    }
    return self[0]
  }
}

/// One answer of the server, freed with its last user.
///
/// Safe to share although libpq knows nothing of it: a `PGresult` is not changed any more once
/// `PQgetResult` has handed it over, the accessors used here only read it, and it is freed in `deinit`,
/// when nobody else can hold it.
final class ServerResult: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    PQclear(pointer)
  }

  var status: ExecStatusType { PQresultStatus(pointer) }
  var rowCount: Int { Int(PQntuples(pointer)) }
  var columnCount: Int { Int(PQnfields(pointer)) }
  var command: String { PQcmdStatus(pointer).map { String(cString: $0) } ?? "" }

  /// The number of rows a command touched; 0 for one that touches none.
  var affectedRows: Int { PQcmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0 }

  func columnName(_ column: Int) -> String {
    PQfname(pointer, Int32(column)).map { String(cString: $0) } ?? ""
  }

  func columnType(_ column: Int) -> UInt32 {
    PQftype(pointer, Int32(column))
  }

  /// The first column of that name.
  func column(named name: String) -> Int? {
    var name = name
    return name.withUTF8 { name in
      (0..<columnCount).first { column in
        guard let found = PQfname(pointer, Int32(column)) else { return false }
        // Byte by byte, since most names differ in the first: to measure each took reports a third of their time.
        for (place, byte) in name.enumerated() {
          guard found[place] != 0, UInt8(bitPattern: found[place]) == byte else { return false }
        }
        return found[name.count] == 0
      }
    }
  }

  /// The value's bytes, which live as long as this object; nil for NULL.
  func bytes(row: Int, column: Int) -> UnsafeRawBufferPointer? {
    let count = PQgetlength(pointer, Int32(row), Int32(column))
    // Only what has no length can be NULL; most values are spared the question.
    guard count > 0 || PQgetisnull(pointer, Int32(row), Int32(column)) == 0 else { return nil }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(pointer, Int32(row), Int32(column)), count: Int(count))
  }
}

// MARK: - What it is

extension ServerResult {
  var isError: Bool { status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE }
  /// Whether it is a part of the rows that are streamed.
  var isPart: Bool { pq_is_part(status) }
  var isSync: Bool { status == PGRES_PIPELINE_SYNC }
  var isAborted: Bool { status == PGRES_PIPELINE_ABORTED }
  var isCopyIn: Bool { status == PGRES_COPY_IN }
  var isCopyOut: Bool { status == PGRES_COPY_OUT }
  var isCopy: Bool { isCopyIn || isCopyOut || status == PGRES_COPY_BOTH }

  /// Whether the server closes the connection after this error.
  var endsConnection: Bool {
    guard let severity = pq_diag_severity(pointer).map({ String(cString: $0) }) else { return false }
    return severity == "FATAL" || severity == "PANIC"
  }
}
