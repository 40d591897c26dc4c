import Administration
import JobQueue

/// The profile answers of a file.
enum ProfileFile {
  /// An answer and the line on which it stands, or what is wrong with that line.
  struct Entry: Sendable, Equatable {
    let line: Int
    let answer: Result<ProfileAnswer, Fault>
  }

  struct Fault: Error, Sendable, Equatable {
    let sentence: String
    /// Whose answer it is, where that much could be read.
    var user: String?
  }

  /// Reads a whole as one JSON text, or else each line as one.
  static func entries(_ bytes: [UInt8]) -> [Entry] {
    if let answers = try? ProfileAnswer.parse(bytes) {
      return answers.map { Entry(line: 1, answer: .success($0)) }
    }
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.enumerated().flatMap { index, line -> [Entry] in
      guard line.contains(where: { !" \t\r".utf8.contains($0) }) else { return [] }
      do throws(JobQueueError) {
        return try ProfileAnswer.parse(Array(line)).map { Entry(line: index + 1, answer: .success($0)) }
      } catch {
        return [Entry(line: index + 1, answer: .failure(Fault(sentence: error.message)))]
      }
    }
  }
}
