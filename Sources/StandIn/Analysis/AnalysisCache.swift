import Support
import Synchronization

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

  /// Pictures known.
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
