import CommandLineTool
import FoundationEssentials
import Queue
import Support

/// A file that says something of users: the endpoint's profile answers, or a table of the office.
enum UserFile {
  /// How a file is written.
  enum Format: String, CaseIterable, Sendable {
    case json, csv

    /// By the ending of a file's name; JSON where that says nothing.
    init(of name: String?) {
      self = name?.lowercased().hasSuffix(".csv") == true ? .csv : .json
    }
  }

  /// A record and the line on which it stands, or what is wrong with that line.
  struct Entry: Sendable, Equatable {
    let line: Int
    let record: Result<UserRecord, Fault>

    /// The same entry, without a photo that nobody may fetch; refused where its photo is elsewhere than allowed.
    ///
    /// - Parameters:
    ///   - hosts: Where photos may come from; none for leaving photos out.
    ///   - base: Below which address photos are that are given by name.
    func withPhoto(from hosts: [AllowedHost], below base: PhotoBase? = nil) -> Entry {
      guard case .success(var record) = record else { return self }
      let given = record.photoURL ?? (base == nil ? nil : record.photoName)
      guard let given, !hosts.isEmpty else {
        record.photoURL = nil
        return Entry(line: line, record: .success(record))
      }
      let sentence: String
      do {
        record.photoURL = try base.address(of: given, among: hosts)
        return Entry(line: line, record: .success(record))
      } catch let error as RemoteImageError {
        sentence = error.message
      } catch {
        sentence = "Its name \((error as? PhotoBase.Fault)?.message ?? "cannot be read")."
      }
      return Entry(
        line: line, record: .failure(Fault(sentence: "Photo: \(sentence)", user: record.reference)))
    }
  }

  struct Fault: Error, Sendable, Equatable {
    let sentence: String
    /// Of whom it is, where that much could be read.
    var user: String?
  }

  /// The columns of a table.
  enum Column: String, CaseIterable, Sendable {
    case user, plan, zone, anchor, clinic, name, email, birthday, address, gender, photo
  }

  /// Reads a file. Throws where the whole cannot be understood.
  static func entries(_ bytes: [UInt8], _ format: Format, name: String) throws(CommandFailure) -> [Entry] {
    switch format {
    case .json: answers(bytes.withoutByteOrderMark)
    case .csv: try table(bytes, name)
    }
  }

  /// Reads a whole as one JSON text, or else each line as one.
  private static func answers(_ bytes: [UInt8]) -> [Entry] {
    if let records = try? ProfileAnswer.parse(bytes) {
      return records.map { Entry(line: 1, record: .success($0)) }
    }
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.enumerated().flatMap { index, line -> [Entry] in
      guard line.contains(where: { !" \t\r".utf8.contains($0) }) else { return [] }
      do throws(JobQueueError) {
        return try ProfileAnswer.parse(Array(line)).map { Entry(line: index + 1, record: .success($0)) }
      } catch {
        return [Entry(line: index + 1, record: .failure(Fault(sentence: error.message)))]
      }
    }
  }

  /// Reads a table. An empty cell leaves what is known as it is.
  private static func table(_ bytes: [UInt8], _ name: String) throws(CommandFailure) -> [Entry] {
    let table = try CSVTable<Column>(bytes, name: name)
    guard table.columns.contains(.user) else {
      throw CommandFailure(
        .unreadableInput, "\(table.position): there is no column 'user'",
        advice: "It holds what you call the user. The columns are: \(Column.list).")
    }
    return table.rows.map { row in
      switch row.cells {
      case .failure(let fault): Entry(line: row.line, record: .failure(Fault(sentence: fault.sentence)))
      case .success(let cells): Entry(line: row.line, record: record(of: cells))
      }
    }
  }

  private static func record(of cells: [Column: String]) -> Result<UserRecord, Fault> {
    let cells = cells.filter { !$0.value.isEmpty }
    guard let user = cells[.user] else { return .failure(Fault(sentence: "It names no user.")) }
    var record = UserRecord(user)
    record.plan = cells[.plan]
    record.zone = cells[.zone]
    if let anchor = cells[.anchor] {
      record.anchor = Int(anchor)
      guard record.anchor != nil else {
        return .failure(Fault(sentence: "Its anchor is not a day from 1 to 31.", user: user))
      }
    }
    record.clinic = cells[.clinic]
    record.name = cells[.name]
    record.email = cells[.email]
    record.birthday = cells[.birthday]
    record.address = cells[.address]
    record.gender = cells[.gender]
    record.photoURL = cells[.photo]
    return .success(record)
  }
}

/// Reads users as the endpoint's API describes them.
enum ProfileAnswer {
  /// Reads one JSON text: an answer `{"user": {…}}` or `{"data": {…}}`, a bare user, or an array of either. The id becomes
  /// the reference and the subscription the plan.
  ///
  /// - Throws: `invalid` for anything else, with what is wrong but not with the text.
  static func parse(_ json: [UInt8]) throws(JobQueueError) -> [UserRecord] {
    do {
      return try JSONDecoder().decode(Document.self, from: Data(json)).users.map { try $0.checked() }
    } catch let error as JobQueueError {
      throw error
    } catch let error as DecodingError {
      throw JobQueueError(.invalid, "This is not a profile answer: \(Self.message(error)).")
    } catch {
      throw JobQueueError(.invalid, "This is not a profile answer.")
    }
  }

  /// Where and why decoding failed, without the values.
  private static func message(_ error: DecodingError) -> String {
    let (what, path): (String, [any CodingKey]) =
      switch error {
      case .typeMismatch(_, let context): ("a value has another type than expected", context.codingPath)
      case .valueNotFound(_, let context): ("a value is missing", context.codingPath)
      case .keyNotFound(let key, let context): ("\(key.stringValue) is missing", context.codingPath)
      case .dataCorrupted(let context): ("it is not valid JSON", context.codingPath)
      @unknown default: ("it cannot be read", [])
      }
    let location = path.map(\.stringValue).joined(separator: ".")
    return location.isEmpty ? what : "\(what), at \(location)"
  }
}

/// One of the three forms in which users come.
private struct Document: Decodable {
  var users: [UserFields]

  init(from decoder: any Decoder) throws {
    if var list = try? decoder.unkeyedContainer() {
      users = []
      while !list.isAtEnd { users += try list.decode(Document.self).users }
    } else if let container = try? decoder.container(keyedBy: AnswerKey.self),
      let key = container.allKeys.first
    {
      users = [try container.decode(UserFields.self, forKey: key)]
    } else {
      users = [try UserFields(from: decoder)]
    }
  }

  private enum AnswerKey: CodingKey { case user, data }
}

/// A user's fields as they are written.
private struct UserFields: Decodable {
  var id: Identifier
  var email: String?
  var name: String?
  var subscription: String?
  var analysisCount: Int?
  var lastResetDate: String?
  var photoUrl: String?
  var logo: String?
  var nama_lengkap: String?
  var kl_nama, kl_logo, app_jenis: Presence?

  /// Something that is said, of whatever type.
  struct Presence: Decodable {
    let isEmpty: Bool

    init(from decoder: any Decoder) throws {
      isEmpty = (try? decoder.singleValueContainer().decode(String.self)) == ""
    }
  }

  /// Some endpoints give numbers for ids.
  struct Identifier: Decodable {
    var text: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int64.self) {
        text = String(number)
      } else {
        text = try container.decode(String.self)
      }
    }
  }

  func checked() throws -> UserRecord {
    guard !id.text.isEmpty else {
      throw JobQueueError(.invalid, "This is not a profile answer: the id is empty.")
    }
    var reset: Double?
    if let lastResetDate {
      guard let seconds = Self.seconds(lastResetDate) else {
        throw JobQueueError(
          .invalid, "The profile of user \(id.text) has a lastResetDate that is not a time.")
      }
      reset = seconds
    }
    var record = UserRecord(id.text)
    record.email = email
    record.name = name ?? nama_lengkap
    // The subscription becomes the plan here.
    record.plan = subscription
    record.subscription = subscription
    record.analysisCount = analysisCount
    record.lastResetDate = reset
    record.photoURL = photoUrl.flatMap { $0.isEmpty ? nil : $0 }
    record.photoName = logo.flatMap { $0.isEmpty ? nil : $0 }
    record.notTaken = [("kl_nama", kl_nama), ("kl_logo", kl_logo), ("app_jenis", app_jenis)]
      .filter { $0.1?.isEmpty == false }.map(\.0)
    return record
  }

  /// A time of ISO 8601 with or without fractions of a second.
  private static func seconds(_ text: String) -> Double? {
    for style in [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()] {
      if let date = try? style.parse(text) { return date.timeIntervalSince1970 }
    }
    return nil
  }
}
