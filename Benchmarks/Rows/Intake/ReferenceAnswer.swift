import Foundation

/// The same answer as Foundation's `JSONDecoder` reads it, member for member, without the checks of our own.
struct ReferenceAnswer: Decodable {
  struct Condition: Decodable {
    let id: String
    let name: String
    let confidence: Double
    let description: String?
    let symptoms: [String]?
    let isPotentiallySerious: Bool?
    let recommendConsultation: Bool?
    let treatmentInfo: String?
  }

  struct Debug: Decodable {
    let source: String?
    let milliseconds: Double?

    private enum CodingKeys: String, CodingKey {
      case source = "data_source"
      case milliseconds = "processing_time"
    }
  }

  let id: String
  let type: String
  let timestamp: String?
  let user: String?
  let conditions: [Condition]
  let debug: Debug?

  private enum CodingKeys: String, CodingKey {
    case id, type, timestamp, conditions
    case user = "user_id"
    case debug = "debug_info"
  }
}
