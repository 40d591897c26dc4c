/// Bytes that a request body lends to the transfer, without a copy.
///
/// Whoever owns an image implements this, over an array or over memory of another library. The transfer
/// calls it on the event loop's thread, any number of times while the request is in flight, and keeps no
/// pointer between two calls.
public protocol BodyBytes: Sendable {
  /// How many bytes there are; must not change.
  var count: Int { get }

  /// Lends the bytes for the length of one call, always the same bytes.
  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

extension Array: BodyBytes where Element == UInt8 {}
