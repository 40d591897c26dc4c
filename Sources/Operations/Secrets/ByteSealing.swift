/// Keeps bytes secret where others might read them, and proves on the way back that nobody changed them.
///
/// Whoever keeps a person's data on a disk takes one of these. It may be called by any thread.
public protocol ByteSealing: Sendable {
  /// The bytes in a form that tells nothing of them but their length.
  ///
  /// - Parameter associated: What they belong to: not kept with them, but needed again to open them, so that
  ///   one sealed text cannot be put in the place of another.
  /// - Throws: When the bytes cannot be sealed; they must then not be kept.
  func seal(_ bytes: [UInt8], associated: [UInt8]) throws -> [UInt8]

  /// The bytes that were sealed.
  ///
  /// - Throws: When they were sealed with another key or for something else, or were changed since.
  func open(_ bytes: [UInt8], associated: [UInt8]) throws -> [UInt8]
}
