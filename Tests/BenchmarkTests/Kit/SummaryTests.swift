import BenchmarkKit
import Testing

struct SummaryTests {
  @Test("The middle value, the least and the greatest")
  func oddNumber() throws {
    let summary = try #require(Summary([5, 1, 4]))
    #expect(summary.median == 4)
    #expect(summary.minimum == 1)
    #expect(summary.maximum == 5)
  }

  @Test("Of an even number the median lies between the two in the middle")
  func evenNumber() {
    #expect(Summary([4, 1, 2, 100])?.median == 3)
  }

  @Test("Of nothing there is no summary")
  func nothing() {
    #expect(Summary([]) == nil)
  }
}
