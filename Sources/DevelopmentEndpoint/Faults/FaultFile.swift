import FoundationEssentials

/// A file of failures: `{"seed": 7, "faults": {"503": 0.05, "reset": "1@2"}}`.
public struct FaultFile: Sendable, Equatable {
  /// The seed, if the file has one.
  public let seed: UInt64?
  /// The failures of the file.
  public let rules: [FaultRule]

  private struct Content: Decodable {
    var seed: UInt64?
    var faults: [String: Share]
  }

  /// A number, or the text that a command line would have after the equals sign.
  private struct Share: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Double.self) {
        text = String(number)
      } else {
        text = try container.decode(String.self)
      }
    }
  }

  /// Reads the JSON text of such a file.
  ///
  /// - Throws: `EndpointError` if the text is not of that form, or a failure in it is not known.
  public init(parsing json: String) throws(EndpointError) {
    let content: Content
    do {
      content = try JSONDecoder().decode(Content.self, from: Data(json.utf8))
    } catch {
      throw EndpointError(
        .unreadable,
        "the file of failures is not of the form {\"seed\": 7, \"faults\": {\"503\": 0.05, \"reset\": \"1@2\"}}"
      )
    }
    var rules: [FaultRule] = []
    for (name, share) in content.faults.sorted(by: { $0.key < $1.key }) {
      rules.append(try FaultRule(parsing: "\(name)=\(share.text)"))
    }
    self.seed = content.seed
    self.rules = rules
  }
}
