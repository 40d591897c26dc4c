internal import ImageDecoding
internal import Images

/// Why a job's image cannot be sent; no call was made.
enum UnusableImage: Error {
  /// It could not be made fit to be sent.
  case refused(ImageRefusal)
  /// It is encrypted under a key that is not here; what happened and what to do.
  case locked(String)
  /// Under the right key it is not what was encrypted, or it is somebody else's; what happened and what to do.
  case tampered(String)
  /// No decoder can be started here.
  case undecodable(ImageDecoderError)
  /// The worker is to stop at once.
  case cancelled
}
