import FoundationEssentials
import Queue

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
