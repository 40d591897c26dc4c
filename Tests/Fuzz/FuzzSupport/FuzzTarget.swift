internal import Cfuzzer
internal import Glibc

/// A program that libFuzzer feeds with inputs: it must neither crash nor break a rule that `require` states.
public protocol FuzzTarget {
  /// Takes one input.
  static func take(_ input: UnsafeRawBufferPointer)
}

extension FuzzTarget {
  /// Runs libFuzzer with the program's arguments; it ends the program at a finding.
  public static func main() {
    Feeding.take = take
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(
      LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
        Feeding.take(UnsafeRawBufferPointer(start: bytes, count: count))
        return 0
      })
  }
}

/// What the callback of C calls: it can carry no context.
private enum Feeding {
  // Set once, before the fuzzer begins, and read on the same thread.
  nonisolated(unsafe) static var take: (UnsafeRawBufferPointer) -> Void = { _ in }
}

/// States a rule that holds for every input; a broken one is a finding.
public func require(_ condition: Bool, _ rule: @autoclosure () -> String) {
  if !condition { fatalError("broken rule: \(rule())") }
}

/// States that a text may be shown to a person: bounded, and free of control characters.
public func requireShowable(_ text: String, limit: Int, _ what: String) {
  require(text.unicodeScalars.count <= limit, "\(what) has \(text.unicodeScalars.count) characters")
  require(
    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) },
    "\(what) holds a control character: \(text.debugDescription)")
}
