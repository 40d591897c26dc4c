/// Why a submitted file was not accepted, for the person who submitted it.
public struct ImageRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of refusal this is.
  public let code: Code
  /// Whole sentences that say what is wrong with the file and what to do. They hold neither the file's
  /// name nor anything of its content.
  public let message: String
  /// The name of the format that was found instead of JPEG or PNG ("HEIC", "PDF"), where one was.
  let detectedFormat: String?

  init(_ code: Code, _ message: String, detectedFormat: String? = nil) {
    self.code = code
    self.message = message
    self.detectedFormat = detectedFormat
  }

  /// The code's name and the message.
  public var description: String { "\(code.rawValue): \(message)" }
}

extension ImageRefusal {
  /// The kinds of refusal.
  public enum Code: String, Sendable, CaseIterable, CustomStringConvertible {
    /// The file has no bytes.
    case empty
    /// The file has more bytes than `ImageLimits.maxBytes`.
    case fileTooLarge = "file_too_large"
    /// The file is neither JPEG nor PNG, whatever it is called.
    case unsupportedFormat = "unsupported_format"
    /// A rare kind of JPEG or PNG that is not read: 12 bits a sample, lossless, hierarchical, far too many scans.
    case unsupportedVariant = "unsupported_variant"
    /// The file ends before the picture does.
    case truncated
    /// The file's content contradicts itself.
    case damaged
    /// The picture has more pixels than `ImageLimits.maxPixels`, or a side that no JPEG can have.
    case tooManyPixels = "too_many_pixels"
    /// The picture's colour profile cannot be read or applied.
    case colourProfile = "colour_profile"
    /// No smaller form of the picture came below `ImageLimits.maxOutputBytes`.
    case cannotFit = "cannot_fit"
    /// The picture made its decoder crash, or kept it busy for too long.
    case decoderFailed = "decoder_failed"
    /// The picture may be good, but this machine could not process it: out of memory, say.
    case notProcessed = "not_processed"

    /// A stable name for records and JSON.
    public var description: String { rawValue }
  }
}

extension ImageRefusal {
  static let empty = ImageRefusal(
    .empty, "The file is empty. Check that it was saved or copied whole, and submit it again.")

  /// A file, or what came by its address, with more bytes than are accepted; how many is not always known.
  public static func fileTooLarge(bytes: Int?, limit: Int) -> ImageRefusal {
    let found = bytes.map { grouped($0) } ?? "more than \(grouped(limit))"
    return ImageRefusal(
      .fileTooLarge,
      "The file has \(found) bytes; at most \(grouped(limit)) are accepted. "
        + "Save the picture smaller or with a lower JPEG quality, and submit it again.")
  }

  static func tooManyPixels(width: Int, height: Int, limit: Int) -> ImageRefusal {
    ImageRefusal(
      .tooManyPixels,
      "The picture is \(grouped(width)) by \(grouped(height)) pixels; at most \(grouped(limit)) pixels "
        + "in all are accepted. Scale it down and submit it again.")
  }

  static func sideTooLong(width: Int, height: Int) -> ImageRefusal {
    ImageRefusal(
      .tooManyPixels,
      "The picture is \(grouped(width)) by \(grouped(height)) pixels; neither side may have more than "
        + "\(grouped(ImageLimits.longestSide)). Scale it down and submit it again.")
  }

  static func colourProfile(_ reason: String) -> ImageRefusal {
    ImageRefusal(
      .colourProfile,
      "The picture's colours are not known: \(reason). Open it, save it again as sRGB, and submit that.")
  }

  static func truncated(_ format: ImageFormat, reason: String) -> ImageRefusal {
    ImageRefusal(
      .truncated,
      "The \(format.name) file is cut off: \(reason). Copy or export it again from where it was taken, "
        + "and submit the whole file.")
  }

  static func damaged(_ format: ImageFormat, reason: String) -> ImageRefusal {
    ImageRefusal(
      .damaged,
      "The \(format.name) file is damaged: \(reason). Open the original and save it again as JPEG or "
        + "PNG, or take the picture anew.")
  }

  static func unsupportedVariant(_ what: String, _ format: ImageFormat = .jpeg) -> ImageRefusal {
    ImageRefusal(
      .unsupportedVariant,
      "The file is \(what), a rare kind of \(format.name) that is not read here. Save it again as an ordinary "
        + "8-bit JPEG or as PNG, and submit that.")
  }

  static func unsupported(_ format: ForeignFormat) -> ImageRefusal {
    ImageRefusal(
      .unsupportedFormat,
      "The file is \(format.sentence). Only JPEG and PNG pictures are accepted. "
        + format.advice, detectedFormat: format.name)
  }

  static let unknownFormat = ImageRefusal(
    .unsupportedFormat,
    "The file is not a picture of a known format, whatever it is called. Only JPEG and PNG pictures are "
      + "accepted. Save the picture as JPEG or PNG, and submit that.")

  static func cannotFit(limit: Int) -> ImageRefusal {
    ImageRefusal(
      .cannotFit,
      "The picture could not be made small enough for the limit of \(grouped(limit)) bytes. "
        + "Scale it down and submit it again.")
  }

  /// A picture that its decoder did not live through: "it crashed".
  static func decoderFailed(_ reason: String) -> ImageRefusal {
    ImageRefusal(
      .decoderFailed,
      "The picture ended the program that decodes it: \(reason). Open the original and save it again as "
        + "JPEG or PNG, and submit that.")
  }

  /// A picture that may be good: "memory is short".
  static func notProcessed(_ reason: String) -> ImageRefusal {
    ImageRefusal(
      .notProcessed,
      "The picture could not be processed on this machine: \(reason). The file itself may be good: "
        + "submit it again later, or scaled down.")
  }

  /// Digits in groups of three, as people read them.
  private static func grouped(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number).reversed().enumerated() {
      if index > 0, index % 3 == 0, digit != "-" { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }
}
