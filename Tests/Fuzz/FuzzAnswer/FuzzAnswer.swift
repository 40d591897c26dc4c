import Foundation
import FuzzSupport
import HTTPTransfer
import Support

@testable import Endpoint

/// The endpoint's answer: the status and a header from the first two bytes, the body from the others.
@main enum FuzzAnswer: FuzzTarget {
  private static let statuses = [
    200, 201, 400, 401, 403, 408, 413, 415, 422, 429, 500, 502, 503, 504, 302, 418,
  ]
  private static let now = 1_770_000_000.0

  static func take(_ input: UnsafeRawBufferPointer) {
    guard input.count >= 2 else { return }
    let body = Array(input[2...])
    decode(body)
    classify(body, status: statuses[Int(input[0]) % statuses.count], choice: input[1])
  }

  /// An accepted answer keeps every rule of an analysis, and Foundation's reader accepts it too.
  private static func decode(_ body: [UInt8]) {
    guard let analysis = try? AnalysisDecoder.decode(body, expecting: .throat) else { return }
    require(analysis.kind == .throat, "of the kind that was asked for")
    requireShowable(analysis.id, limit: AnswerFields.shortLimit, "the id")
    require(!analysis.id.isEmpty, "the id is not empty")
    for condition in analysis.conditions {
      require((0...1).contains(condition.confidence.value), "a confidence from 0 to 1")
      require(!condition.id.isEmpty && !condition.name.isEmpty, "a condition has an id and a name")
      let further = [condition.explanation, condition.treatment, condition.recommendation].compactMap { $0 }
      for text in [condition.id, condition.name] + (condition.symptoms ?? []) + further {
        requireShowable(text, limit: AnswerFields.longLimit, "a condition's text")
      }
    }
    let reference = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
    require(reference != nil, "what is accepted is JSON to Foundation too")
    let conditions = reference?["conditions"] as? [[String: Any]]
    require(conditions?.count == analysis.conditions.count, "as many conditions as Foundation finds")
    for (read, ours) in zip(conditions ?? [], analysis.conditions) {
      require((read["confidence"] as? NSNumber)?.doubleValue == ours.confidence.value, "the same confidence")
      require(read["name"] as? String == ours.name, "the same name")
    }
  }

  /// Whatever comes back, the failure's words may be shown and its pause is bounded.
  private static func classify(_ body: [UInt8], status: Int, choice: UInt8) {
    var headers: Headers = ["Content-Type": choice & 1 == 0 ? "application/json" : "text/html"]
    if choice & 2 != 0 { headers.add("Retry-After", String(decoding: body.prefix(40), as: UTF8.self)) }
    guard let failure = Classifier(now: now).failure(status: status, headers: headers, body: body) else {
      return
    }
    requireShowable(failure.message, limit: 300, "the message")
    requireShowable(failure.evidence ?? "", limit: 400, "the evidence")
    requireShowable(failure.code ?? "", limit: AnswerFields.shortLimit, "the code")
    requireShowable(failure.errorID ?? "", limit: AnswerFields.shortLimit, "the error id")
    if let pause = failure.retryAfter {
      require((.zero ... .seconds(3600)).contains(pause), "a pause of at most an hour: \(pause)")
    }
    if let until = failure.pauseUntil {
      require(until.isFinite && until > now && until < now + 400 * 86_400, "a pause that ends: \(until)")
    }
  }
}
