import BenchmarkKit
import Endpoint
import Foundation
import Support

/// Reading an answer: our decoder, with all its checks, beside Foundation's.
struct DecodeRow: BenchmarkRow {
  let name = "decode"
  let sentence = "microseconds of the processor to read one answer of the endpoint"
  let headline = Headline.figure("each_us", unit: "us")

  private static let bytesInAll = 50_000_000
  private static let quickBytesInAll = 500_000

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let total = bench.size(Self.bytesInAll, quick: Self.quickBytesInAll)
    return [SampleAnswer.usual, SampleAnswer.long].flatMap { answer in
      let times = max(1, total / answer.count)
      return [
        Contender("ours, \(answer.count) bytes") { _ in
          try await Self.measure(times) {
            try AnalysisDecoder.decode(answer, expecting: .throat).conditions.count
          }
        },
        Contender("JSONDecoder, \(answer.count) bytes", .peer) { _ in
          let data = Data(answer)
          return try await Self.measure(times) {
            try JSONDecoder().decode(ReferenceAnswer.self, from: data).conditions.count
          }
        },
      ]
    }
  }

  /// Reads an answer so many times; what each reading finds is added up, so that none can be left out.
  private static func measure(_ times: Int, _ read: @escaping @Sendable () throws -> Int) async throws
    -> Sample
  {
    try await onOwnThread {
      let expected = try read() * times
      let before = OwnUsage().seconds
      let begin = ContinuousClock.now
      var found = 0
      for _ in 0..<times { found += try read() }
      let seconds = (ContinuousClock.now - begin) / .seconds(1)
      let used = OwnUsage().seconds - before
      guard found == expected, found > 0 else { throw BenchmarkError("The readings of one answer differ") }
      return Sample(
        amount: Double(times), seconds: seconds, workerSeconds: used,
        further: ["each_us": used * 1e6 / Double(times)])
    }
  }
}
