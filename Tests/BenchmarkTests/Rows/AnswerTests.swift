import Foundation
import Testing

@testable import BenchmarkRows
@testable import Endpoint
@testable import Support

@Suite("The answers that the benchmarks have decoded")
struct AnswerTests {
  @Test("have the length that they are named for")
  func length() {
    #expect(SampleAnswer.usual.count == 892)
    #expect((14_000...20_000).contains(SampleAnswer.long.count))
  }

  @Test("say the same to both decoders", arguments: [false, true])
  func same(isLong: Bool) throws {
    let answer = isLong ? SampleAnswer.long : SampleAnswer.usual
    let ours = try AnalysisDecoder.decode(answer, expecting: .throat)
    let reference = try JSONDecoder().decode(ReferenceAnswer.self, from: Data(answer))
    #expect(ours.id == reference.id)
    #expect(ours.model == reference.debug?.source)
    #expect(ours.processingMilliseconds == reference.debug?.milliseconds)
    #expect(ours.conditions.map(\.name) == reference.conditions.map(\.name))
    #expect(ours.conditions.map(\.confidence.value) == reference.conditions.map(\.confidence))
    #expect(ours.conditions.map(\.explanation) == reference.conditions.map(\.description))
    #expect(ours.conditions.map(\.symptoms) == reference.conditions.map(\.symptoms))
    #expect(ours.conditions.map(\.treatment) == reference.conditions.map(\.treatmentInfo))
  }
}
