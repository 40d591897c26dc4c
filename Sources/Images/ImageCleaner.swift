internal import Support

/// Decides whether a submitted file may enter, and makes of it an upright JPEG without metadata, or leaves it a PNG.
///
/// Cleaning is work for the processor and takes milliseconds to a second: call it from a thread that
/// may be kept busy. One cleaner serves any number of threads at once.
public struct ImageCleaner: Sendable {
  /// The limits that files are held to.
  let limits: ImageLimits

  /// A cleaner with the given limits.
  public init(limits: ImageLimits = ImageLimits()) {
    self.limits = limits
  }

  /// Cleans a file's bytes. Throws the refusal if they are not a whole, sound JPEG or PNG within the
  /// limits; the file's name plays no part.
  public func clean(_ bytes: [UInt8]) throws(ImageRefusal) -> CleanImage {
    try bytes.withUnsafeBytes { file in
      Result { () throws(ImageRefusal) -> CleanImage in try clean(file) }
    }.get()
  }

  /// Cleans a file's bytes, which must not change meanwhile. Throws the refusal if they are not a whole,
  /// sound JPEG or PNG within the limits; the file's name plays no part.
  public func clean(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> CleanImage {
    guard !bytes.isEmpty else { throw .empty }
    guard bytes.count <= limits.maxBytes else {
      throw .fileTooLarge(bytes: bytes.count, limit: limits.maxBytes)
    }
    switch ImageFormat(bytes) {
    case .jpeg: return try cleanJPEG(bytes)
    case .png: return try cleanPNG(bytes)
    case nil:
      if let foreign = ForeignFormat.detect(bytes) { throw .unsupported(foreign) }
      throw .unknownFormat
    }
  }
}

extension CleanImage {
  /// A picture of the given size that was encoded anew.
  init(
    _ fitted: OutputFitter.Fitted, _ source: ImageFormat, _ orientation: Orientation, of size: PixelSize,
    converted: Bool, removed: Int
  ) {
    self.init(
      bytes: fitted.bytes, size: fitted.size, source: source,
      changes: Changes(
        orientation: orientation.rawValue, reencoded: true, converted: converted,
        scaled: fitted.size != size.exchanged(orientation.exchangesSides), metadataBytesRemoved: removed))
  }

  init(bytes: [UInt8], size: PixelSize, source: ImageFormat, changes: Changes) {
    self.bytes = bytes
    width = size.width
    height = size.height
    self.source = source
    self.changes = changes
  }
}

extension ImageCleaner {
  /// Cleans a JPEG. One that is read with warnings is looked at again, since some of them cost no pixel.
  func cleanJPEG(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> CleanImage {
    do throws(ImageRefusal) {
      return try cleanJPEG(bytes, .refused)
    } catch {
      guard error.code == .damaged else { throw error }
      if let harm = JPEGWarnings.harm(in: bytes) { throw .jpeg(harm) }
      return try cleanJPEG(bytes, .harmless)
    }
  }

  private func cleanJPEG(
    _ bytes: UnsafeRawBufferPointer, _ warnings: JPEGWarnings
  ) throws(ImageRefusal) -> CleanImage {
    let structure = JPEGStructure(bytes)
    try refuseRareKinds(structure)
    if let size = structure.size {
      try limits.check(size)
      try limits.check(size, scans: structure.scans)
    }
    let handle = try TurboHandle(.transform)
    let header = try JPEGHeader(bytes, handle, warnings)
    let size = PixelSize(header.width, header.height)
    try limits.check(size)
    let conversion = try structure.profile.profile(bytes).flatMap { profile throws(ImageRefusal) in
      try ColourProfile(icc: profile).conversion(header.layout, isGrey: header.colours == .grey)
    }
    let orientation = Orientation(exif: structure.exif.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
    let removed = structure.metadataBytes + (structure.end.map { bytes.count - $0 } ?? 0)
    let wanted = limits.allowed(size)

    if wanted == size, conversion == nil, header.canBeTurnedWithoutLoss(orientation),
      let turned = try turnedWithoutLoss(bytes, orientation, handle, warnings)
    {
      return CleanImage(
        bytes: turned, size: size.exchanged(orientation.exchangesSides), source: .jpeg,
        changes: CleanImage.Changes(
          orientation: orientation.rawValue, reencoded: false, converted: false, scaled: false,
          metadataBytesRemoved: removed))
    }
    var pixels = try JPEGDecoder.decode(bytes, header, handle, warnings)
    pixels.finishColours(conversion)
    let isGrey = header.colours == .grey && conversion == nil
    let fitted = try OutputFitter(limits: limits).encode(
      try pixels.finished(wanted, orientation), isGrey ? .grey : .none)
    return CleanImage(
      fitted, .jpeg, orientation, of: size, converted: conversion != nil, removed: removed)
  }

  /// The turned picture with every pixel as it was, or nil if that has too many bytes.
  private func turnedWithoutLoss(
    _ bytes: UnsafeRawBufferPointer, _ orientation: Orientation, _ handle: borrowing TurboHandle,
    _ warnings: JPEGWarnings
  ) throws(ImageRefusal) -> [UInt8]? {
    for packing in [LosslessTurn.Packing.plain, .small] {
      let turned = try LosslessTurn.turn(bytes, orientation, handle, packing, warnings)
      if turned.count <= limits.maxOutputBytes { return turned }
    }
    return nil
  }

  /// The kinds of JPEG that libturbojpeg cannot read, told from the frame header.
  private func refuseRareKinds(_ structure: JPEGStructure) throws(ImageRefusal) {
    switch structure.frameMarker {
    case 0xC3, 0xC7, 0xCB, 0xCF: throw .unsupportedVariant("a lossless JPEG")
    case 0xC5, 0xC6, 0xCD, 0xCE, 0xDE: throw .unsupportedVariant("a hierarchical JPEG")
    case 0xF7: throw .unsupportedVariant("a JPEG-LS picture")
    case .some where structure.size?.height == 0:
      throw .unsupportedVariant("a JPEG that tells its height behind the picture (DNL)")
    case .some where structure.components.map { ![1, 3, 4].contains($0) } == true:
      throw .unsupportedVariant("a JPEG with \(structure.components ?? 0) kinds of samples")
    case .some where structure.precision > 8 && structure.precision <= 16:
      throw .unsupportedVariant("a JPEG with \(structure.precision) bits a sample")
    default: break
    }
  }
}

extension ImageCleaner {
  func cleanPNG(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> CleanImage {
    let structure = try PNGStructure(bytes, limits: limits)
    let conversion = try structure.colours.profile(bytes).flatMap { profile throws(ImageRefusal) in
      try profile.conversion(structure.layout, isGrey: structure.isGrey)
    }
    let orientation = structure.exif.map { Orientation(tiff: Array(bytes[$0])) } ?? .upright
    let wanted = limits.allowed(structure.size)
    var pixels = try PNGDecoder.decode(bytes, structure)
    if limits.keepsPNG, conversion == nil, orientation == .upright, wanted == structure.size,
      let kept = structure.withoutMetadata(bytes), kept.count <= limits.maxOutputBytes
    {
      return CleanImage(
        bytes: kept, size: structure.size, source: .png,
        changes: CleanImage.Changes(
          orientation: orientation.rawValue, reencoded: false, converted: false, scaled: false,
          metadataBytesRemoved: bytes.count - kept.count))
    }
    pixels.finishColours(conversion)
    let fitted = try OutputFitter(limits: limits).encode(try pixels.finished(wanted, orientation), .none)
    return CleanImage(
      fitted, .png, orientation, of: structure.size, converted: conversion != nil,
      removed: structure.metadataBytes)
  }
}

/// A picture that may be stored and sent on: an upright JPEG, or a PNG where that is kept, with nothing in it but the
/// picture.
public struct CleanImage: Sendable, Equatable {
  /// The file. A JPEG's only application segment is the JFIF header, and a PNG has the chunks alone without which it
  /// cannot be decoded; nothing follows its end.
  public let bytes: [UInt8]
  /// Width of the upright picture in pixels.
  public let width: Int
  /// Height of the upright picture in pixels.
  public let height: Int
  /// The format the submitted file really had.
  public let source: ImageFormat
  /// What was done to the submitted picture.
  public let changes: Changes

  /// SHA-256 of `bytes`, 32 bytes: what the picture is known by. Computed each time.
  public var sha256: [UInt8] { SHA256.digest(of: bytes) }

  /// Whether it was scaled to fewer pixels on the shorter side than the endpoint's models see.
  public var isBelowModelSide: Bool { changes.scaled && min(width, height) < ImageLimits.modelSide }
}

extension CleanImage {
  /// What cleaning did.
  public struct Changes: Sendable, Hashable {
    /// The EXIF orientation, 1 to 8, that the submitted picture was turned upright from; 1 is no turn.
    let orientation: Int
    /// Whether the pixels were decoded and encoded anew. If false, the picture is the submitted one
    /// without loss.
    public let reencoded: Bool
    /// Whether the colours were converted to sRGB from a profile that is not.
    public let converted: Bool
    /// Whether the picture has fewer pixels than the submitted one.
    public let scaled: Bool
    /// Bytes of metadata (EXIF, XMP, IPTC, colour profiles, comments and all other application
    /// segments or ancillary chunks) and after the picture's end that were left behind.
    let metadataBytesRemoved: Int

    /// Whether the picture was turned.
    public var turned: Bool { orientation != 1 }
  }
}
