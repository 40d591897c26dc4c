/// What encrypted bytes belong to. Both encryptions, of the bytes and of their own key, are made with it as associated
/// data, so that neither opens as anything else.
protocol EncryptionBinding: Sendable {
  /// What the bytes are bound to.
  var ofBytes: [UInt8] { get }
  /// What their own key is bound to.
  var ofKey: [UInt8] { get }
}

extension EncryptionBinding {
  /// Each part after its length, so that no two bindings look alike; the first is a label, which says what kind of
  /// encryption it is and of which version.
  static func context(_ parts: [UInt8]...) -> [UInt8] {
    var context: [UInt8] = []
    context.reserveCapacity(parts.reduce(0) { $0 + 4 + $1.count })
    for part in parts {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: part.count).bigEndian) { context.append(contentsOf: $0) }
      context.append(contentsOf: part)
    }
    return context
  }
}
