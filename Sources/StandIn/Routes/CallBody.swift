import FoundationEssentials
import Support

/// The JSON bodies clients send.
enum CallBody {
  struct Credentials: Decodable {
    let email: String
    let password: String
    let name: String?
  }

  struct Refresh: Decodable {
    let refreshToken: String
  }

  struct Save: Decodable {
    let id: String?
    let type: String
    let conditions: JSONValue
  }

  struct Profile: Decodable {
    let name: String?
    let email: String?
  }

  /// `subscription` of the guide, or `subscription_level` of the real server.
  struct Plan: Decodable {
    let subscription: String?
    let subscriptionLevel: String?

    private enum CodingKeys: String, CodingKey {
      case subscription
      case subscriptionLevel = "subscription_level"
    }

    func level(_ dialect: EndpointConfiguration.Dialect) -> AccountSubscription? {
      (dialect == .guide ? subscription : subscriptionLevel).flatMap(AccountSubscription.init(rawValue:))
    }
  }

  /// Whether a body is JSON at all.
  static func isJSON(_ bytes: [UInt8]) -> Bool { decode(JSONValue.self, bytes) != nil }

  /// The body of a request, or nil if it is not of that form.
  static func decode<Body: Decodable>(_ type: Body.Type, _ bytes: [UInt8]) -> Body? {
    try? JSONDecoder().decode(type, from: Data(bytes))
  }
}
