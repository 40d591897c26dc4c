import Support

/// The answers of the failures.
struct FaultAnswers {
  private let configuration: EndpointConfiguration
  /// Seconds since 1970.
  private let now: Double

  init(_ configuration: EndpointConfiguration, now: Double) {
    self.configuration = configuration
    self.now = now
  }

  /// The answer of a failure that needs no analysis, or nil for those that change one.
  func plain(_ strike: FaultPlan.Strike) -> Answer? {
    var answer = connection(strike.fault) ?? status(strike.fault) ?? body(strike.fault)
    answer?.outcome = strike.fault.rawValue
    return answer
  }

  /// An analysis as an unusual or faulty answer tells it.
  func changed(_ success: AnalysisAnswer, _ analysis: AnsweredAnalysis, _ strike: FaultPlan.Strike) -> Answer
  {
    var changed = success
    var delivery = Answer.Delivery.whole
    switch strike.fault {
    case .badConfidence:
      let wrong = ["1.5", "-0.1", "NaN", "\"high\""][Int(strike.choice % 4)]
      changed.conditions = conditions(analysis.conditions, confidence: wrong)
    case .sparse: changed.conditions = conditions(analysis.conditions, sparse: true)
    case .wrongType: changed.kind = success.kind.other
    case .missingID: changed.id = nil
    case .missingConditions: changed.conditions = nil
    case .noFindings: changed.conditions = Array("[]".utf8)
    case .newerModel: changed.conditions = Array(Self.newerModelConditions.utf8)
    case .errorFalse: changed.extra = ",\"error\":false"
    case .secondsTimestamp: changed.stamp = .seconds
    case .createdAt: changed.stamp = .createdAt
    case .negativeTime: changed.duration = .milliseconds(-1)
    case .fallback: changed.conditions = Array(Self.fallbackConditions.utf8)
    case .huge: changed.extra = ",\"padding\":\"\(String(repeating: "x", count: 2 << 20))\""
    case .truncated: delivery = .truncated(missing: 100)
    case .slow: delivery = .dripped(piece: 32, pause: configuration.dripInterval)
    default: break
    }
    var answer = Answer(body: changed.json(now: now))
    answer.delivery = delivery
    answer.outcome = strike.fault.rawValue
    return answer
  }

  private func conditions(
    _ conditions: [AnsweredCondition], confidence: String? = nil, sparse: Bool = false
  ) -> [UInt8] {
    var text = JSONWriter()
    text.array(conditions) { $0.condition($1, confidence: confidence, sparse: sparse) }
    return text.bytes
  }

  private func connection(_ fault: FaultClass) -> Answer? {
    var answer = Answer(status: 0, body: [])
    switch fault {
    case .reset: answer.delivery = .reset
    case .timeout: answer.delivery = .never(configuration.hangLimit)
    default: return nil
    }
    return answer
  }

  private func status(_ fault: FaultClass) -> Answer? {
    switch fault {
    case .badRequest: return .failure(400, "The request is not valid.")
    case .unauthorized: return .unauthorized
    case .forbidden: return .failure(403, "Permission denied.")
    case .requestTimeout: return .failure(408, "The request took too long.")
    case .contentTooLarge: return .imageTooLarge
    case .unsupportedMedia: return .failure(415, "This kind of image is not supported.")
    case .unprocessable: return .failure(422, "The image cannot be processed.", code: "INVALID_IMAGE_FORMAT")
    case .tooMany: return .failure(429, "Too many requests.")
    case .tooManyRetryAfter: return waiting(429, String(configuration.retryAfter))
    case .tooManyRetryAfterDate: return waiting(429, retryDate)
    case .serverError: return .failure(500, "Internal server error.", code: "SERVER_ERROR")
    case .badGateway: return .page(502, "Bad Gateway")
    case .unavailable: return .failure(503, "The service is not available.")
    case .unavailableRetryAfter: return waiting(503, String(configuration.retryAfter))
    case .gatewayTimeout: return .page(504, "Gateway Timeout")
    case .criticalError:
      return .failure(500, "The image could not be processed.", code: "CRITICAL_ERROR") {
        $0.raw(",\"category\":\"processing\",\"recovery_action\":\"retry\",\"error_id\":\"err-0001\"")
      }
    case .errorString:
      return Answer(status: 500, body: Array("{\"error\":\"Something went wrong\"}".utf8))
    case .limitExceeded: return .limitExceeded(429)
    case .limitExceededForbidden: return .limitExceeded(403)
    case .redirect:
      var answer = Answer(status: 307, contentType: nil, body: [])
      answer.headers.append(("Location", "https://elsewhere.invalid/api/analyze"))
      return answer
    default: return nil
    }
  }

  private func body(_ fault: FaultClass) -> Answer? {
    switch fault {
    case .html: return .page(200, "Maintenance")
    case .badJSON: return Answer(body: Array("{\"id\":\"analysis-1\",\"type\":\"thr".utf8))
    case .empty: return Answer(body: [])
    case .gzipBomb:
      var answer = Answer(body: GzipBomb.stream)
      answer.headers.append(("Content-Encoding", "gzip"))
      return answer
    case .errorTrue: return .failure(200, "The analysis failed.", code: "SERVER_ERROR")
    case .errorTrueImageFormat:
      return .failure(200, "The image format is not supported.", code: "INVALID_IMAGE_FORMAT")
    case .analysisError:
      let json = """
        {"id":"analysis-error-1","type":"throat","timestamp":"\(configuration.dialect.moment(now))","user_id":"anonymous",\
        "conditions":[{"id":"analysis_error","name":"Analysis error","confidence":0,"description":"The analysis \
        could not be completed.","isPotentiallySerious":false,"isError":true,"error":"inference failed",\
        "diagnostic":{"stage":"inference"}}]}
        """
      return Answer(body: Array(json.utf8))
    default: return nil
    }
  }

  private var retryDate: String {
    UnixTime(secondsSince1970: now + Double(configuration.retryAfter)).httpDate
  }

  private func waiting(_ status: Int, _ retryAfter: String) -> Answer {
    var answer = Answer.failure(status, "Too many requests. Try again later.")
    answer.headers.append(("Retry-After", retryAfter))
    return answer
  }

  private static let fallbackConditions = """
    [{"id":"infected","name":"Infected","confidence":0.5,"description":"\(ConditionCatalogue.notice)","error":"",\
    "error_note":"This is a fallback result due to an error"}]
    """

  private static let newerModelConditions = """
    [{"id":"normal","name":"Normal","confidence":0.95,"description":"\(ConditionCatalogue.notice)",\
    "isPotentiallySerious":false,"recommendationText":"No action needed.","attention_map":null}]
    """
}

/// A valid gzip stream that grows 158-fold: white space, coded as one literal and repeats of 258 bytes.
enum GzipBomb {
  /// Bytes after unpacking: 64 MiB, a power of two so that the checksum can be found by doubling.
  static let unpackedSize = 1 << 26

  /// The stream, made when first asked for.
  static let stream = make()

  private static func make() -> [UInt8] {
    var bits = BitWriter(bytes: [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
    // One final block with the fixed codes: literals are 8 bits long, length 258 is 11000101, distance 1 is
    // 00000, the end is 0000000.
    bits.append(0b011, 3)
    let (repeats, rest) = (unpackedSize - 1).quotientAndRemainder(dividingBy: 258)
    for _ in 0...rest { bits.appendCode(0x30 + UInt32(UInt8(ascii: " ")), 8) }
    for _ in 0..<repeats {
      bits.appendCode(0b1100_0101, 8)
      bits.append(0, 5)
    }
    bits.append(0, 7)
    var stream = bits.finished()
    for number in [checksum(), UInt32(unpackedSize)] {
      for shift in stride(from: UInt32(0), to: 32, by: 8) {
        stream.append(UInt8(truncatingIfNeeded: number >> shift))
      }
    }
    return stream
  }

  /// The CRC-32 of the unpacked bytes: of one space, doubled 26 times.
  private static func checksum() -> UInt32 {
    var crc: UInt32 = ~0 ^ UInt32(UInt8(ascii: " "))
    for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ polynomial : crc >> 1 }
    crc = ~crc
    // x to the power of 8 times the length so far, modulo the polynomial; bit 31 is x to the power of 0.
    var power: UInt32 = 1 << 23
    var length = 1
    while length < unpackedSize {
      crc = product(power, crc) ^ crc
      power = product(power, power)
      length *= 2
    }
    return crc
  }

  private static let polynomial: UInt32 = 0xedb8_8320

  private static func product(_ a: UInt32, _ b: UInt32) -> UInt32 {
    var result: UInt32 = 0
    var b = b
    for bit in (UInt32(0)...31).reversed() {
      if a >> bit & 1 == 1 { result ^= b }
      b = b & 1 == 1 ? (b >> 1) ^ polynomial : b >> 1
    }
    return result
  }
}

/// Packs bits into bytes from the lowest up, as deflate wants them.
struct BitWriter {
  private var bytes: [UInt8]
  private var pending: UInt32 = 0
  private var count: UInt32 = 0

  /// Starts after the given bytes.
  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Appends the low bits of a number, lowest first.
  mutating func append(_ value: UInt32, _ width: UInt32) {
    pending |= value << count
    count += width
    while count >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: pending))
      pending >>= 8
      count -= 8
    }
  }

  /// Appends a Huffman code, highest bit first.
  mutating func appendCode(_ code: UInt32, _ width: UInt32) {
    var reversed: UInt32 = 0
    for bit in 0..<width { reversed |= (code >> bit & 1) << (width - 1 - bit) }
    append(reversed, width)
  }

  /// The bytes, the last one filled with zeros.
  func finished() -> [UInt8] {
    count == 0 ? bytes : bytes + [UInt8(truncatingIfNeeded: pending)]
  }
}
