extension ImageCleaner {
  func cleanJPEG(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> CleanImage {
    let structure = JPEGStructure(bytes)
    try refuseRareKinds(structure)
    let handle = try TurboHandle(.transform)
    let header = try JPEGHeader(bytes, handle)
    let size = PixelSize(header.width, header.height)
    guard size.pixels <= limits.maxPixels else {
      throw .tooManyPixels(width: size.width, height: size.height, limit: limits.maxPixels)
    }
    let orientation =
      structure.exif.map { Orientation(exif: UnsafeRawBufferPointer(rebasing: bytes[$0])) } ?? .upright
    let removed = structure.metadataBytes + (structure.end.map { bytes.count - $0 } ?? 0)
    let fitter = OutputFitter(limits: limits)
    let wanted = fitter.allowed(size)

    if wanted == size, header.canBeTurnedWithoutLoss(orientation) {
      let turned = try LosslessTurn.turn(bytes, orientation, handle)
      if turned.count <= limits.maxOutputBytes {
        return CleanImage(
          bytes: turned, size: size.exchanged(orientation.exchangesSides), source: .jpeg,
          changes: CleanImage.Changes(
            orientation: orientation.rawValue, reencoded: false, scaled: false,
            metadataBytesRemoved: removed))
      }
    }
    let pixels = try JPEGDecoder.decode(bytes, header, atLeast: wanted, handle)
      .finished(wanted, orientation)
    let fitted = try fitter.encode(
      pixels, scaled: wanted != size, subsampling(of: header, turned: orientation))
    return CleanImage(fitted, .jpeg, orientation, removed: removed)
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

  /// A picture that is encoded anew keeps its own sampling, so that its colours stay as sharp as they
  /// were; where it has none that fits, none is coarsened.
  private func subsampling(of header: JPEGHeader, turned orientation: Orientation) -> Subsampling {
    switch header.colours {
    case .grey: .grey
    case .yCbCr:
      header.subsampling.map { orientation.exchangesSides ? $0.onItsSide : $0 } ?? .none
    case .rgb, .inks: .none
    }
  }
}
