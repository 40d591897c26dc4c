public import Images
public import Support

/// What the errors of files and keys mean for the exit code, the same in `analysis-worker` and `analysisctl`.
extension ExitCode {
  /// A file or folder that is not as it has to be.
  public init(of error: SystemError) {
    self =
      switch error.code {
      case .unreadable: .unreadableInput
      case .unwritable where error.isFullDisk: .tryLater
      case .unwritable where error.isMissingFolder: .usage
      case .unwritable, .notPrivate: .permission
      case .syntax, .unknownKey, .invalid: .usage
      default: .internalError
      }
  }

  /// A key file, or an image that does not open.
  public init(of error: ImageEncryptionError) {
    self =
      switch (error.underlying, error.code) {
      case (let file?, _) where file.code == .invalid: .unreadableInput
      case (let file?, _): ExitCode(of: file)
      case (nil, .file): .permission
      case (nil, .syntax): .usage
      case (nil, .noKey), (nil, .inUse), (nil, .tampered): .refused
      default: .internalError
      }
  }
}
