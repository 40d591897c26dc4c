import FoundationEssentials
import Synchronization

/// Decides which failure strikes which try of which key, by calculation alone: the same seed, key and try
/// give the same failure in every run.
struct FaultPlan: Sendable, Equatable {
  /// A failure that strikes, with a number for the choices within it.
  struct Strike: Equatable {
    let fault: FaultClass
    let choice: UInt64
  }

  /// The number all decisions are drawn from.
  let seed: UInt64
  /// The failures, in the order of their classes so that the order they were given in does not matter.
  let rules: [FaultRule]

  static let none = FaultPlan()

  private init() {
    seed = 0
    rules = []
  }

  /// A plan of failures whose shares add up to 1 or less.
  ///
  /// - Throws: `EndpointError` for a share outside 0 to 1, a sum above 1, or a class given twice.
  init(seed: UInt64, rules: [FaultRule]) throws(EndpointError) {
    var total = 0.0
    var seen: Set<FaultClass> = []
    for rule in rules {
      guard (0...1).contains(rule.share) else {
        throw EndpointError(.configuration, "the share of \(rule.fault.rawValue) is not from 0 to 1")
      }
      guard seen.insert(rule.fault).inserted else {
        throw EndpointError(.configuration, "the failure \(rule.fault.rawValue) is given twice")
      }
      total += rule.share
    }
    guard total <= 1 + 1e-9 else {
      throw EndpointError(.configuration, "the shares of the failures add up to \(total); 1 is the most")
    }
    self.seed = seed
    self.rules = FaultClass.allCases.compactMap { fault in rules.first { $0.fault == fault } }
  }

  var isEmpty: Bool { rules.isEmpty }

  /// The failure of one try of a key, counted from 1, or nil.
  func strike(key: UInt64, attempt: Int) -> Strike? {
    guard !rules.isEmpty else { return nil }
    let drawn = Self.mixed(Self.mixed(seed ^ key) &+ UInt64(truncatingIfNeeded: attempt))
    // The upper 53 bits, as a number from 0 up to but not including 1.
    var position = Double(drawn >> 11) * 0x1p-53
    for rule in rules {
      if position < rule.share {
        if let lastTry = rule.lastTry, attempt > lastTry { return nil }
        return Strike(fault: rule.fault, choice: Self.mixed(drawn))
      }
      position -= rule.share
    }
    return nil
  }

  /// The finalizer of SplitMix64: every bit of the input changes about half of the output's.
  private static func mixed(_ value: UInt64) -> UInt64 {
    var z = value &+ 0x9e37_79b9_7f4a_7c15
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}

/// One failure with the share of the uploads it strikes.
public struct FaultRule: Sendable, Equatable {
  /// The failure.
  public var fault: FaultClass
  /// The share struck, 0 to 1.
  public var share: Double
  /// The last try of a key that can be struck; nil is every try.
  public var lastTry: Int?

  /// A failure with its share (0 to 1), for all tries or for those up to `lastTry`.
  public init(_ fault: FaultClass, share: Double, lastTry: Int? = nil) {
    self.fault = fault
    self.share = share
    self.lastTry = lastTry
  }

  /// Reads `CLASS=SHARE` or `CLASS=SHARE@LASTTRY`, such as `503=0.05` or `reset=1@2`.
  ///
  /// - Throws: `EndpointError` with what is wrong and, for an unknown class, the classes there are.
  init(parsing text: String) throws(EndpointError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw EndpointError(.configuration, "'\(text)' is no failure; write CLASS=SHARE, such as 503=0.05")
    }
    guard let fault = FaultClass(rawValue: String(parts[0])) else {
      let known = FaultClass.allCases.map(\.rawValue).joined(separator: ", ")
      throw EndpointError(.configuration, "'\(parts[0])' is no class of failure; known are \(known)")
    }
    let amounts = parts[1].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    guard let share = Double(String(amounts[0])), (0...1).contains(share) else {
      throw EndpointError(.configuration, "the share of '\(text)' is not a number from 0 to 1")
    }
    var lastTry: Int?
    if amounts.count == 2 {
      guard let number = Int(String(amounts[1])), number >= 1 else {
        throw EndpointError(.configuration, "the last try of '\(text)' is not a number from 1")
      }
      lastTry = number
    }
    self.init(fault, share: share, lastTry: lastTry)
  }
}

/// A file of failures: `{"seed": 7, "faults": {"503": 0.05, "reset": "1@2"}}`.
struct FaultFile: Sendable, Equatable {
  /// The seed, if the file has one.
  let seed: UInt64?
  /// The failures of the file.
  let rules: [FaultRule]

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
  init(parsing json: String) throws(EndpointError) {
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

/// Counts how often each key has come.
final class TryCounter: Sendable {
  private let counts = Mutex<[UInt64: Int]>([:])

  /// The number of this try, counted from 1.
  func next(_ key: UInt64) -> Int {
    counts.withLock { counts in
      counts[key, default: 0] += 1
      return counts[key, default: 1]
    }
  }

  /// Keys seen, and tries beyond the first of each.
  var summary: (keys: Int, repeats: Int) {
    counts.withLock { ($0.count, $0.values.reduce(0) { $0 + $1 - 1 }) }
  }
}

/// A way in which the endpoint can be told to misbehave, or to answer unusually but validly.
public enum FaultClass: String, Sendable, CaseIterable {
  // Plain error statuses.
  case badRequest = "400"
  case unauthorized = "401"
  case forbidden = "403"
  case requestTimeout = "408"
  case contentTooLarge = "413"
  case unsupportedMedia = "415"
  case unprocessable = "422"
  case tooMany = "429"
  case tooManyRetryAfter = "429-retry-after"
  case tooManyRetryAfterDate = "429-retry-after-date"
  case serverError = "500"
  case badGateway = "502"
  case unavailable = "503"
  case unavailableRetryAfter = "503-retry-after"
  case gatewayTimeout = "504"
  /// 500 with `CRITICAL_ERROR`, a category, an advice and an `error_id`.
  case criticalError = "critical-error"
  /// 500 whose `error` is a string instead of a boolean.
  case errorString = "error-string"
  /// 429 with `ANALYSIS_LIMIT_EXCEEDED`.
  case limitExceeded = "limit-exceeded"
  /// 403 with `ANALYSIS_LIMIT_EXCEEDED`, as an earlier version answered.
  case limitExceededForbidden = "limit-exceeded-403"
  /// 307 to another host.
  case redirect

  // Faults of the connection.
  /// The connection is reset when the whole request has been read.
  case reset
  /// No answer ever comes.
  case timeout
  /// A valid answer whose body arrives a few bytes at a time.
  case slow
  /// Content-Length promises more than the body holds.
  case truncated

  // 200 with a body that is no answer.
  case html
  case badJSON = "bad-json"
  case empty
  /// A valid answer of 2 MiB.
  case huge
  /// 64 MiB of white space in a gzip stream of 0.4 MiB.
  case gzipBomb = "gzip-bomb"

  // 200 with JSON that is no valid analysis.
  /// `error: true` with `SERVER_ERROR`.
  case errorTrue = "error-true"
  /// `error: true` with `INVALID_IMAGE_FORMAT`.
  case errorTrueImageFormat = "error-true-image-format"
  /// The one condition is `analysis_error`.
  case analysisError = "analysis-error"
  /// The one condition is made up, with an empty `error` and an `error_note`.
  case fallback
  /// A confidence of 1.5, -0.1, NaN, or text.
  case badConfidence = "bad-confidence"
  /// The other type of analysis than the one asked for.
  case wrongType = "wrong-type"
  case missingID = "missing-id"
  case missingConditions = "missing-conditions"

  // Unusual, and valid.
  /// `error: false` beside the analysis.
  case errorFalse = "error-false"
  /// The timestamp as seconds since 1970.
  case secondsTimestamp = "seconds-timestamp"
  /// `created_at` in place of `timestamp`, without fractional seconds.
  case createdAt = "created-at"
  /// Conditions without flags, symptoms and treatment.
  case sparse
  /// No condition at all.
  case noFindings = "no-findings"
  /// A processing time of -1 ms.
  case negativeTime = "negative-time"
  /// The one condition `normal` with `recommendationText` and `attention_map`.
  case newerModel = "newer-model"
}
