/// Why there is no clean picture.
public enum UndecodedImage: Error, Sendable, Equatable {
  /// For what it is, or for what it did to its decoder.
  case refused(ImageRefusal)
  /// Nothing is known of it: the decoder cannot be started on this machine.
  case unavailable(ImageDecoderError)
  /// Nobody waits for it any more.
  case cancelled
}

/// `image-decoder` cannot be started.
public struct ImageDecoderError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What was tried, what the system said, and what to do.
  public let description: String

  /// - Parameter isInstallation: Whether the right program is not there, or may not be run.
  init(_ program: String, _ reason: String, isInstallation: Bool = false) {
    description =
      "\(program) cannot be started, without which no image is decoded: \(reason). "
      + (isInstallation
        ? "Install image-decoder of this version there, beside this program."
        : "Look at the machine's memory and at its limits of processes and open files.")
  }
}
