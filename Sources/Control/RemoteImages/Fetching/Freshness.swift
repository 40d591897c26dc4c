internal import HTTPTransfer

/// For how long an answer may be kept, by what it says itself.
enum Freshness: Sendable, Equatable {
  /// It says nothing: as long as everything.
  case usual
  /// Some seconds at most.
  case atMost(Double)
  /// Not at all.
  case never

  /// Reads `Cache-Control` and `Age` (RFC 9111). What is written for shared caches does not concern this one.
  init(_ headers: Headers) {
    var limit: Double?
    let directives = headers.all("Cache-Control").flatMap { $0.split(separator: ",") }
    for directive in directives {
      let parts = directive.split(separator: "=", maxSplits: 1).map { Self.trimmed($0).lowercased() }
      switch parts.first {
      // Asking the host each time whether it still holds would be no use of a cache here.
      case "no-store", "no-cache":
        self = .never
        return
      case "max-age":
        // What is no number is taken for the shortest time, as the standard advises.
        let seconds = parts.count == 2 ? Self.seconds(parts[1]) ?? 0 : 0
        limit = min(limit ?? seconds, seconds)
      default: break
      }
    }
    guard let limit else {
      self = .usual
      return
    }
    let rest = limit - (headers["Age"].flatMap(Self.seconds) ?? 0)
    self = rest > 0 ? .atMost(rest) : .never
  }

  /// Until when something is kept that came now; nil for not at all.
  func end(from now: Double, usual: Double) -> Double? {
    switch self {
    case .usual: usual > 0 ? now + usual : nil
    case .atMost(let seconds): usual > 0 ? now + min(seconds, usual) : nil
    case .never: nil
    }
  }

  private static func seconds(_ text: String) -> Double? {
    let digits = text.filter { $0 != "\"" }
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Double(digits)
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
