extension ImageCleaner {
  func cleanPNG(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> CleanImage {
    let structure = try PNGStructure(bytes, limits: limits)
    let conversion = try structure.colours.profile(bytes).flatMap { profile throws(ImageRefusal) in
      try profile.conversion(structure.layout, isGrey: structure.isGrey)
    }
    let orientation = structure.exif.map { Orientation(tiff: Array(bytes[$0])) } ?? .upright
    let wanted = limits.allowed(structure.size)
    var pixels = try PNGDecoder.decode(bytes, structure)
    pixels.finishColours(conversion)
    let fitted = try OutputFitter(limits: limits).encode(try pixels.finished(wanted, orientation), .none)
    return CleanImage(
      fitted, .png, orientation, of: structure.size, converted: conversion != nil,
      removed: structure.metadataBytes)
  }
}
