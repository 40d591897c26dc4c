import FuzzSupport
import Support

/// A configuration file: read whole, or refused with the line that is at fault.
@main enum FuzzConfiguration: FuzzTarget {
  private static let keys: Set<String> = ["endpoint", "concurrency", "lease", "drain-horizon", "log-format"]

  static func take(_ input: UnsafeRawBufferPointer) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    do throws(SystemError) {
      let file = try ConfigurationFile.parse(text, path: "worker.conf", keys: keys)
      require(Set(file.values.keys).isSubset(of: keys), "only keys that are known")
      let lines = file.entries.values.map(\.line)
      require(Set(lines).count == lines.count, "one key a line")
      // Written plainly, it says the same.
      let plain = file.entries.values.filter { isPlain($0.value) }
      for entry in plain {
        let again = try ConfigurationFile.parse("lease = \(entry.value)\n", path: "worker.conf", keys: keys)
        require(again.values["lease"] == entry.value, "a plain value is read as it stands")
      }
    } catch {
      requireShowable(error.description, limit: 1000, "the error")
      require(error.line.map { $0 >= 1 } ?? false, "a fault has its line")
    }
  }

  private static func isPlain(_ value: String) -> Bool {
    !value.isEmpty
      && value.utf8.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      }
  }
}
