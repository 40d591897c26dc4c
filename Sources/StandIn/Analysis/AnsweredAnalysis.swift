import Support
import Synchronization

/// What the stand-in says about one picture.
struct AnsweredAnalysis: Sendable {
  let kind: AnalysisKind
  let conditions: [AnsweredCondition]
  /// `conditions` as a JSON array.
  let conditionsJSON: [UInt8]

  /// - Parameter advises: whether a condition has a recommendation beside its treatment.
  init(kind: AnalysisKind, conditions: [AnsweredCondition], advises: Bool) {
    self.kind = kind
    self.conditions = conditions
    var writer = JSONWriter()
    writer.array(conditions) { $0.condition($1, advises: advises) }
    conditionsJSON = writer.bytes
  }
}

extension AnalysisKind {
  /// The type that a picture does not show.
  var other: AnalysisKind { self == .throat ? .ear : .throat }
}

/// One condition of an answer, ready to be written.
struct AnsweredCondition: Sendable, Equatable {
  let template: ConditionTemplate
  /// In ten-thousandths, so that it is written the same everywhere.
  let tenThousandths: Int

  /// The confidence as it is written: `0.7812`.
  var confidence: String {
    if tenThousandths >= 10_000 { return "1" }
    let digits = String(tenThousandths)
    return "0." + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// What is the same in every answer about a condition.
struct ConditionTemplate: Sendable, Equatable {
  let id: String
  let name: String
  let detail: String
  let symptoms: [String]
  let serious: Bool
  let consult: Bool
  let treatment: String
}

// The hot answers are written by hand, because an encoder costs more than the rest of the request.
extension JSONWriter {
  /// One condition; `confidence` stands in for its own when given, `sparse` leaves out what may be missing, and
  /// `advises` says whether there is a recommendation beside the treatment.
  mutating func condition(
    _ condition: AnsweredCondition, confidence: String? = nil, sparse: Bool = false, advises: Bool = false
  ) {
    let template = condition.template
    raw("{\"id\":")
    string(template.id)
    raw(",\"name\":")
    string(template.name)
    raw(",\"confidence\":")
    raw(confidence ?? condition.confidence)
    raw(",\"description\":")
    string("\(ConditionCatalogue.notice) \(template.detail)")
    if !sparse {
      raw(",\"isPotentiallySerious\":")
      boolean(template.serious)
      raw(",\"symptoms\":")
      array(template.symptoms) { $0.string($1) }
      raw(",\"recommendConsultation\":")
      boolean(template.consult)
      raw(",\"treatmentInfo\":")
      string(template.treatment)
      if advises {
        raw(",\"recommendationText\":")
        string(template.consult ? "Have it looked at." : "No action needed.")
      }
    }
    raw("}")
  }
}

/// Analyses by picture, so that a picture is decoded once. Two generations: when the younger is full it
/// becomes the older and the older goes, which bounds memory without a list to maintain at every hit.
final class AnalysisCache: Sendable {
  private struct Key: Hashable {
    let digest: ImageDigest
    let kind: AnalysisKind
  }

  private struct Generations {
    var young: [Key: AnsweredAnalysis?] = [:]
    var old: [Key: AnsweredAnalysis?] = [:]
  }

  private let generations = Mutex(Generations())
  private let capacity: Int

  private let decodes: Bool
  private let advises: Bool

  init(capacity: Int, decodes: Bool = true, advises: Bool = false) {
    self.capacity = max(1, capacity / 2)
    self.decodes = decodes
    self.advises = advises
  }

  /// The analysis of a picture, nil if it cannot be decoded.
  func analysis(_ digest: ImageDigest, _ kind: AnalysisKind, _ bytes: [UInt8]) -> AnsweredAnalysis? {
    let key = Key(digest: digest, kind: kind)
    if let known = lookUp(key) { return known }
    let isPNG = bytes.starts(with: [0x89, 0x50, 0x4e, 0x47])
    let statistics =
      decodes
      ? bytes.withUnsafeBufferPointer {
        isPNG ? PictureDecoder.statistics(png: $0) : PictureDecoder.statistics(jpeg: $0)
      }
      : isPNG || bytes.starts(with: [0xff, 0xd8, 0xff]) ? ColourStatistics(drawnFrom: digest) : nil
    let analysis = statistics.map {
      AnsweredAnalysis(kind: kind, conditions: ConditionCatalogue.conditions(kind, $0), advises: advises)
    }
    generations.withLock { generations in
      Self.insert(analysis, key, &generations, capacity)
    }
    return analysis
  }

  var count: Int { generations.withLock { $0.young.count + $0.old.count } }

  private func lookUp(_ key: Key) -> AnsweredAnalysis?? {
    generations.withLock { generations in
      if let known = generations.young[key] { return .some(known) }
      guard let known = generations.old.removeValue(forKey: key) else { return nil }
      Self.insert(known, key, &generations, capacity)
      return .some(known)
    }
  }

  private static func insert(
    _ analysis: AnsweredAnalysis?, _ key: Key, _ generations: inout Generations, _ capacity: Int
  ) {
    if generations.young.count >= capacity {
      generations.old = generations.young
      generations.young = [:]
    }
    generations.young.updateValue(analysis, forKey: key)
  }
}

/// A 128-bit number for the bytes of an image. It tells images apart; it is no protection against someone
/// who makes two images alike on purpose. (SHA-256 of 120 KB would cost more than receiving it.)
struct ImageDigest: Hashable, Sendable {
  let high: UInt64
  let low: UInt64
  let count: Int

  init(_ bytes: UnsafeRawBufferPointer) {
    var a: UInt64 = 0xa076_1d64_78bd_642f
    var b: UInt64 = 0xe703_7ed1_a0b4_28db
    var offset = 0
    let end = bytes.count
    while offset + 32 <= end {
      let w0 = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let w1 = bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
      let w2 = bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self)
      let w3 = bytes.loadUnaligned(fromByteOffset: offset + 24, as: UInt64.self)
      a = Self.folded(w0 ^ 0x8ebc_6af0_9c88_c6e3, w1 ^ a)
      b = Self.folded(w2 ^ 0x5899_65cc_7537_4cc3, w3 ^ b)
      offset += 32
    }
    while offset < end {
      a = Self.folded(a ^ UInt64(bytes[offset]), 0x1d8e_4e27_c47d_124f)
      offset += 1
    }
    high = Self.folded(a ^ 0xeb44_acca_b455_d165, b ^ UInt64(end))
    low = Self.folded(b ^ 0xa076_1d64_78bd_642f, a ^ UInt64(end) &* 0x9e37_79b9_7f4a_7c15)
    count = end
  }

  /// The digest of the UTF-8 bytes of a text.
  init(text: String) {
    self = Array(text.utf8).withUnsafeBytes { ImageDigest($0) }
  }

  /// 32 hexadecimal digits.
  var hex: String { Self.hex(high) + Self.hex(low) }

  static func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Both halves of the full product, folded together.
  private static func folded(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
