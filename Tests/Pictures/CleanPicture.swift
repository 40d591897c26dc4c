import Foundation
import Images

/// Cleans one picture for `scripts/measure-pictures` and writes what it took as a line of JSON:
/// `clean-picture IN OUT [MAX-DIMENSION|- MIN-SIDE|-]`.
@main enum CleanPicture {
  private struct Report: Encodable {
    let bytes: Int
    let width: Int
    let height: Int
    let reencoded: Bool
    let converted: Bool
    let scaled: Bool
    let seconds: Double
    let peakMegabytes: Int
  }

  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 || arguments.count == 5 else {
      throw CocoaError(.featureUnsupported)
    }
    var limits = ImageLimits()
    if arguments.count == 5 {
      limits.maxDimension = Int(arguments[3])
      limits.minSide = Int(arguments[4])
    }
    let file = [UInt8](try Data(contentsOf: URL(filePath: arguments[1])))
    let begin = ContinuousClock.now
    let clean = try ImageCleaner(limits: limits).clean(file)
    let time = ContinuousClock.now - begin
    try Data(clean.bytes).write(to: URL(filePath: arguments[2]))
    let report = Report(
      bytes: clean.bytes.count, width: clean.width, height: clean.height, reencoded: clean.changes.reencoded,
      converted: clean.changes.converted, scaled: clean.changes.scaled, seconds: time / .seconds(1),
      peakMegabytes: try peakMegabytes())
    print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
  }

  /// The most memory that the process had. What getrusage says includes that of the process which started it.
  private static func peakMegabytes() throws -> Int {
    let status = try String(contentsOf: URL(filePath: "/proc/self/status"), encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    return (kilobytes ?? 0) / 1_000
  }
}
