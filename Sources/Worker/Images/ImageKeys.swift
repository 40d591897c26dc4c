public import ImageEncryption

/// The keys for encrypted images that a worker is given, and where newer ones would be found.
public struct ImageKeys: Sendable {
  /// The keys as they were read at the start.
  public let ring: KeyRing
  /// Reads them again, called where a thread may wait: when an image names a key that is not among them.
  public let read: @Sendable () throws(ImageEncryptionError) -> KeyRing

  /// Keys that were read.
  public init(_ ring: KeyRing, read: @escaping @Sendable () throws(ImageEncryptionError) -> KeyRing) {
    self.ring = ring
    self.read = read
  }
}
