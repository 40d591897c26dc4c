import Foundation
import TestSupport

/// Python's own reading of what was written here.
enum Python {
  private static let program = "/usr/bin/python3"

  /// The rows that Python's csv module finds in the bytes.
  static func csvRows(
    _ bytes: [UInt8], encoding: String, separator: String = ","
  ) async throws -> [[String]] {
    let script = """
      import csv, io, json, sys
      text = sys.stdin.buffer.read().decode(sys.argv[1])
      print(json.dumps(list(csv.reader(
        io.StringIO(text, newline=''), delimiter=sys.argv[2], strict=sys.argv[2] == ','))))
      """
    let output = try await HelperProgram.output(program, ["-c", script, encoding, separator], input: bytes)
    return try JSONDecoder().decode([[String]].self, from: Data(output))
  }

  /// SHA-256 as Python computes it.
  static func sha256(_ bytes: [UInt8]) async throws -> String {
    let script = "import hashlib, sys; sys.stdout.write(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    return String(
      decoding: try await HelperProgram.output(program, ["-c", script], input: bytes), as: UTF8.self)
  }
}
