/// Why a submitted file was not accepted, for the person who submitted it.
public struct ImageRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of refusal this is.
  public let code: Code
  /// Whole sentences that say what is wrong with the file and what to do. They hold neither the file's
  /// name nor anything of its content.
  public let message: String
  /// The name of the format that was found instead of JPEG or PNG ("HEIC", "PDF"), where one was.
  public let detectedFormat: String?

  init(_ code: Code, _ message: String, detectedFormat: String? = nil) {
    self.code = code
    self.message = message
    self.detectedFormat = detectedFormat
  }

  /// The code's name and the message.
  public var description: String { "\(code.name): \(message)" }
}

extension ImageRefusal {
  /// The kinds of refusal. More may come; switch with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case empty
      case fileTooLarge = "file_too_large"
      case unsupportedFormat = "unsupported_format"
      case unsupportedVariant = "unsupported_variant"
      case truncated
      case damaged
      case tooManyPixels = "too_many_pixels"
      case colourProfile = "colour_profile"
      case cannotFit = "cannot_fit"
      case decoderFailed = "decoder_failed"
      case notProcessed = "not_processed"
    }

    private let kind: Kind

    private init(kind: Kind) {
      self.kind = kind
    }

    /// The kind of this name; nil if there is none.
    init?(name: String) {
      guard let kind = Kind(rawValue: name) else { return nil }
      self.kind = kind
    }

    /// The file has no bytes.
    public static let empty = Code(kind: .empty)
    /// The file has more bytes than `ImageLimits.maxBytes`.
    public static let fileTooLarge = Code(kind: .fileTooLarge)
    /// The file is neither JPEG nor PNG, whatever it is called.
    public static let unsupportedFormat = Code(kind: .unsupportedFormat)
    /// A JPEG of a rare kind that is not read: 12 bits a sample, lossless, hierarchical, far too many scans.
    public static let unsupportedVariant = Code(kind: .unsupportedVariant)
    /// The file ends before the picture does.
    public static let truncated = Code(kind: .truncated)
    /// The file's content contradicts itself.
    public static let damaged = Code(kind: .damaged)
    /// The picture has more pixels than `ImageLimits.maxPixels`, or a side that no JPEG can have.
    public static let tooManyPixels = Code(kind: .tooManyPixels)
    /// The picture's colour profile cannot be read or applied.
    public static let colourProfile = Code(kind: .colourProfile)
    /// No smaller form of the picture came below `ImageLimits.maxOutputBytes`.
    public static let cannotFit = Code(kind: .cannotFit)
    /// The picture made its decoder crash, or kept it busy for too long.
    public static let decoderFailed = Code(kind: .decoderFailed)
    /// The picture may be good, but this machine could not process it: out of memory, say.
    public static let notProcessed = Code(kind: .notProcessed)

    /// A stable name for records and JSON: `unsupported_format`.
    public var name: String { kind.rawValue }
    /// The same as `name`.
    public var description: String { kind.rawValue }
  }
}
