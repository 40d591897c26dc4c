extension ImageCleaner {
  func cleanJPEG(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> CleanImage {
    let structure = JPEGStructure(bytes)
    try refuseRareKinds(structure)
    if let size = structure.size {
      try limits.check(size)
      try limits.check(size, scans: structure.scans)
    }
    let handle = try TurboHandle(.transform)
    let header = try JPEGHeader(bytes, handle)
    let size = PixelSize(header.width, header.height)
    try limits.check(size)
    let conversion = try structure.profile.profile(bytes).flatMap { profile throws(ImageRefusal) in
      try ColourProfile(icc: profile).conversion(header.layout, isGrey: header.colours == .grey)
    }
    let orientation = Orientation(exif: structure.exif.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
    let removed = structure.metadataBytes + (structure.end.map { bytes.count - $0 } ?? 0)
    let wanted = limits.allowed(size)

    if wanted == size, conversion == nil, header.canBeTurnedWithoutLoss(orientation),
      let turned = try turnedWithoutLoss(bytes, orientation, handle)
    {
      return CleanImage(
        bytes: turned, size: size.exchanged(orientation.exchangesSides), source: .jpeg,
        changes: CleanImage.Changes(
          orientation: orientation.rawValue, reencoded: false, converted: false, scaled: false,
          metadataBytesRemoved: removed))
    }
    var pixels = try JPEGDecoder.decode(bytes, header, handle)
    pixels.finishColours(conversion)
    let isGrey = header.colours == .grey && conversion == nil
    let fitted = try OutputFitter(limits: limits).encode(
      try pixels.finished(wanted, orientation), isGrey ? .grey : .none)
    return CleanImage(
      fitted, .jpeg, orientation, of: size, converted: conversion != nil, removed: removed)
  }

  /// The turned picture with every pixel as it was, or nil if that has too many bytes.
  private func turnedWithoutLoss(
    _ bytes: UnsafeRawBufferPointer, _ orientation: Orientation, _ handle: borrowing TurboHandle
  ) throws(ImageRefusal) -> [UInt8]? {
    for packing in [LosslessTurn.Packing.plain, .small] {
      let turned = try LosslessTurn.turn(bytes, orientation, handle, packing)
      if turned.count <= limits.maxOutputBytes { return turned }
    }
    return nil
  }

  /// The kinds of JPEG that libturbojpeg cannot read, told from the frame header.
  private func refuseRareKinds(_ structure: JPEGStructure) throws(ImageRefusal) {
    switch structure.frameMarker {
    case 0xC3, 0xC7, 0xCB, 0xCF: throw .unsupportedVariant("a lossless JPEG")
    case 0xC5, 0xC6, 0xCD, 0xCE: throw .unsupportedVariant("a hierarchical JPEG")
    case .some where structure.precision > 8 && structure.precision <= 16:
      throw .unsupportedVariant("a JPEG with \(structure.precision) bits a sample")
    default: break
    }
  }
}
