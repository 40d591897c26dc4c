import Foundation
import TestSupport

/// An app as the API's guide has it: its requests, and its types with what they read of an answer. Each decodes with the
/// defaults of Foundation: plain integers, times by `ISO8601DateFormatter()`, which takes no fraction of a second.
struct GuideClient {
  /// Where it asks.
  let port: UInt16
  var token: String?
  /// What was asked and answered.
  private(set) var exchanges: [Exchange] = []

  struct Exchange: Codable {
    let method: String
    let path: String
    let status: Int
    let body: String
  }

  init(port: UInt16, token: String? = nil) {
    (self.port, self.token) = (port, token)
  }

  /// What an app makes of an answer.
  enum Made<Value> {
    case value(Value)
    /// It shows the message, and acts by the code.
    case refused(message: String, code: String?)
    /// It shows the status alone.
    case status(Int)
    /// It shows that it could not read the answer.
    case unreadable(String)

    /// What it read; nil where it read no such value.
    var value: Value? { if case .value(let value) = self { value } else { nil } }
    /// What it shows in place of a value.
    var message: String? { if case .refused(let message, _) = self { message } else { nil } }

    func line(_ text: (Value) -> String) -> String {
      switch self {
      case .value(let value): text(value)
      case .refused(let message, let code): "shows “\(message)”" + (code.map { " (\($0))" } ?? "")
      case .status(let status): "shows “Server error (\(status))”"
      case .unreadable(let why): "cannot be read: \(why)"
      }
    }
  }

  // MARK: Requests

  mutating func register(_ name: String, password: String) throws -> Made<GuideSession> {
    try session("/api/register", ["email": name, "password": password, "name": name])
  }

  mutating func logIn(_ email: String, password: String) throws -> Made<GuideSession> {
    try session("/api/login", ["email": email, "password": password])
  }

  private mutating func session(_ path: String, _ body: [String: String]) throws -> Made<GuideSession> {
    let made: Made<GuideSession> = try ask("POST", path, body)
    if case .value(let session) = made { token = session.token }
    return made
  }

  mutating func profile() throws -> Made<GuideUser> {
    try user("GET", "/api/user-profile")
  }

  mutating func changeProfile(name: String, email: String) throws -> Made<GuideUser> {
    try user("PUT", "/api/update-profile", ["name": name, "email": email])
  }

  mutating func subscribe(_ plan: GuidePlan) throws -> Made<GuideUser> {
    try user("POST", "/api/update-subscription", ["subscription": plan.rawValue, "paymentToken": "paid"])
  }

  private mutating func user(
    _ method: String, _ path: String, _ body: [String: String]? = nil
  ) throws -> Made<GuideUser> {
    let made: Made<GuideUser.Answer> = try ask(method, path, body)
    return made.map(\.user)
  }

  /// Sends a photo. An answer with 200 that is no analysis is a failure, whose message is shown.
  mutating func analyse(_ image: [UInt8], type: String = "throat") throws -> Made<GuideAnalysis> {
    let client = try RawClient(port: port)
    try client.send(raw: SeedUpload(image: image, type: type, token: token ?? "", port: port).bytes())
    return analysis(of: made(client.receive(), "POST", "/api/analyze"))
  }

  /// Asks for one analysis, as an app that knows where does.
  mutating func analysis(_ id: String) throws -> Made<GuideAnalysis> {
    analysis(of: try ask("GET", "/api/analyses/\(id)"))
  }

  private func analysis(of made: Made<GuideAnswer>) -> Made<GuideAnalysis> {
    made.flatMap { answer in
      answer.analysis.map { .value($0) }
        ?? .refused(message: answer.message ?? "Analysis failed", code: answer.code)
    }
  }

  mutating func save(_ analysis: GuideAnalysis) throws -> Made<GuideSaved> {
    let conditions = try JSONSerialization.jsonObject(with: JSONEncoder().encode(analysis.conditions))
    let body: [String: Any] = ["id": analysis.id, "type": analysis.type, "conditions": conditions]
    return try ask("POST", "/api/analyses/save", body)
  }

  mutating func history(_ path: String = "/api/analyses") throws -> Made<[GuideAnalysis]> {
    let made: Made<GuideHistory> = try ask("GET", path)
    return made.map { $0.analyses ?? $0.history ?? [] }
  }

  mutating func logOut() throws -> Made<GuideMessage> { try ask("POST", "/api/logout") }

  private mutating func ask<Value: Decodable>(
    _ method: String, _ path: String, _ body: [String: Any]? = nil
  ) throws -> Made<Value> {
    let answer = try RawClient(port: port).request(
      method, path,
      headers: ["Content-Type": "application/json"].merging(
        token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
      ) { $1 },
      body: try body.map { [UInt8](try JSONSerialization.data(withJSONObject: $0)) } ?? [])
    return made(answer, method, path)
  }

  private mutating func made<Value: Decodable>(
    _ answer: RawClient.Response, _ method: String, _ path: String
  ) -> Made<Value> {
    exchanges.append(Exchange(method: method, path: path, status: answer.status, body: answer.text))
    guard (200...299).contains(answer.status) else {
      return (try? answer.decoded(GuideError.self)).map { .refused(message: $0.message, code: $0.code) }
        ?? .status(answer.status)
    }
    do {
      return .value(try answer.decoded(Value.self))
    } catch let error as DecodingError {
      return .unreadable(Self.reason(error))
    } catch {
      return .unreadable("\(error)")
    }
  }

  private static func reason(_ error: DecodingError) -> String {
    switch error {
    case .keyNotFound(let key, _): "no \(key.stringValue)"
    case .valueNotFound(_, let context), .typeMismatch(_, let context), .dataCorrupted(let context):
      context.codingPath.map(\.stringValue).joined(separator: ".") + " is not what it expects"
    @unknown default: "\(error)"
    }
  }
}

extension GuideClient.Made {
  func map<Other>(_ read: (Value) -> Other) -> GuideClient.Made<Other> { flatMap { .value(read($0)) } }

  func flatMap<Other>(_ read: (Value) -> GuideClient.Made<Other>) -> GuideClient.Made<Other> {
    switch self {
    case .value(let value): read(value)
    case .refused(let message, let code): .refused(message: message, code: code)
    case .status(let status): .status(status)
    case .unreadable(let why): .unreadable(why)
    }
  }
}

// MARK: - Types

/// A time as the guide's types read it: nil for every other spelling.
private func time(_ text: String?) -> Date? { text.flatMap { ISO8601DateFormatter().date(from: $0) } }

enum GuidePlan: String, Decodable {
  case free, premium

  var shown: String { self == .free ? "Basic" : "Premium" }
}

struct GuideUser: Decodable {
  struct Answer: Decodable {
    let user: GuideUser
  }

  let id, email, name: String
  let subscription: GuidePlan
  let analysisCount: Int
  let lastReset: Date?

  private enum CodingKeys: CodingKey { case id, email, name, subscription, analysisCount, lastResetDate }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    id = try fields.decode(String.self, forKey: .id)
    email = try fields.decode(String.self, forKey: .email)
    name = try fields.decode(String.self, forKey: .name)
    // What it does not know is taken for the free plan.
    subscription = GuidePlan(rawValue: try fields.decode(String.self, forKey: .subscription)) ?? .free
    analysisCount = try fields.decode(Int.self, forKey: .analysisCount)
    lastReset = time(try? fields.decode(String.self, forKey: .lastResetDate))
  }

  var line: String {
    "\(name) (\(email)), \(subscription.shown), \(analysisCount) used since "
      + (lastReset.map { $0.formatted(.iso8601) } ?? "a time that it cannot read")
  }
}

struct GuideSession: Decodable {
  let token: String
  let user: GuideUser
}

struct GuideCondition: Codable {
  let id, name: String
  let confidence: Double
  let description: String
  let symptoms: [String]
  let isPotentiallySerious, recommendConsultation: Bool
  let treatmentInfo: String?

  /// As the app writes it.
  var percentage: String {
    let format = NumberFormatter()
    format.locale = Locale(identifier: "en_US")
    format.numberStyle = .percent
    format.maximumFractionDigits = 0
    return format.string(from: NSNumber(value: confidence)) ?? ""
  }

  /// The colour under which the app shows it.
  var colour: String {
    switch confidence {
    case 0.8...1: "red"
    case 0.6..<0.8: "orange"
    case 0.4..<0.6: "yellow"
    default: "green"
    }
  }
}

/// What a photo is answered with, as it comes.
struct GuideAnswer: Decodable {
  struct DebugInfo: Decodable {
    let data_source: String?
    let image_data_length: Int?
    let processing_time: Int?
  }

  let id, type, timestamp: String?
  let conditions: [GuideCondition]?
  let user: String?
  let error: Bool?
  let message: String?
  /// Newer than the guide.
  let code: String?
  let debug_info: DebugInfo?

  /// What the app makes of it; nil where something is missing.
  var analysis: GuideAnalysis? {
    guard let id, let type, ["throat", "ear"].contains(type), let conditions else { return nil }
    return GuideAnalysis(id: id, type: type, conditions: conditions, date: time(timestamp))
  }
}

struct GuideAnalysis: Decodable {
  let id, type: String
  let conditions: [GuideCondition]
  /// nil: the app takes the present moment.
  let date: Date?

  private enum CodingKeys: CodingKey { case id, type, conditions, timestamp }

  init(id: String, type: String, conditions: [GuideCondition], date: Date?) {
    (self.id, self.type, self.conditions, self.date) = (id, type, conditions, date)
  }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    id = try fields.decode(String.self, forKey: .id)
    type = try fields.decode(String.self, forKey: .type)
    conditions = try fields.decode([GuideCondition].self, forKey: .conditions)
    date =
      time(try? fields.decode(String.self, forKey: .timestamp))
      ?? (try? fields.decode(TimeInterval.self, forKey: .timestamp)).map(Date.init(timeIntervalSince1970:))
  }

  var line: String {
    let first = conditions.first.map { "\($0.name) \($0.percentage) \($0.colour)" } ?? "no condition"
    return "\(type), \(first), \(conditions.count) conditions, "
      + (date.map { $0.formatted(.iso8601) } ?? "dated now, since it cannot read the time")
  }
}

struct GuideSaved: Decodable {
  struct Status: Decodable {
    let subscription: String
    let analysisCount, analysisLimit, analysisRemaining: Int
    let lastResetDate: String
  }

  let message: String
  let analysis: GuideAnalysis
  let subscription: Status

  var line: String {
    let left =
      subscription.analysisRemaining == 2_147_483_647 ? "any number" : "\(subscription.analysisRemaining)"
    return "“\(message)”, \(analysis.line); \(subscription.analysisCount) used, \(left) left, since "
      + (time(subscription.lastResetDate).map { $0.formatted(.iso8601) } ?? "a time that it cannot read")
  }
}

struct GuideHistory: Decodable {
  let analyses, history: [GuideAnalysis]?
}

struct GuideMessage: Decodable {
  let message: String
}

/// What the guide's client reads of an answer that is no success.
struct GuideError: Decodable {
  let error: Bool
  let message: String
  let code, details: String?
}

extension RawClient.Response {
  /// The body as a type of the guide's.
  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(body))
  }
}
