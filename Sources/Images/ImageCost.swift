extension ImageCleaner {
  /// About how much work it is to clean a file: the pixels of the picture, times how often a decoder goes over them. Of
  /// what is refused at once it is little.
  public static func cost(of file: [UInt8]) -> Int {
    file.withUnsafeBytes { bytes in
      switch ImageFormat(bytes) {
      case .jpeg:
        let structure = JPEGStructure(bytes)
        return (structure.size?.pixels ?? 0) * structure.scans
      case .png: return (try? PNGStructure(header: bytes))?.size.pixels ?? 0
      case nil: return 0
      }
    }
  }
}
