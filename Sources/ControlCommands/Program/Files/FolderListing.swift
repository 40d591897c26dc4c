import CommandLineTool
import Formatting
import Glibc

/// The files of a folder that may be images. Blocks: call it where a thread may wait.
struct FolderListing: Sendable, Equatable {
  /// Paths of the image-like files, sorted by the bytes of their names.
  let images: [String]
  /// How many other files there are, hidden ones and folders not counted.
  let others: Int

  /// Endings of names under which pictures go about. Those that are not accepted are among them, so that
  /// a phone's HEIC picture is refused by name and not passed over in silence.
  static let endings: Set<String> = [
    "jpg", "jpeg", "jpe", "jfif", "png", "heic", "heif", "avif", "webp", "gif", "bmp", "tif", "tiff",
  ]

  init(_ folder: String) throws(CommandFailure) {
    guard let stream = opendir(FileName.cString(folder)) else {
      throw CommandFailure(
        .unreadableInput,
        "the folder \(FileName.shown(folder)) cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { closedir(stream) }
    var names: [String] = []
    var others = 0
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        FileName.text(bytes.prefix { $0 != 0 })
      }
      guard !name.hasPrefix(".") else { continue }
      let path = Self.join(folder, name)
      if InputFile.isFolder(path) { continue }
      if Self.looksLikeImage(name) { names.append(name) } else { others += 1 }
    }
    images = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { Self.join(folder, $0) }
    self.others = others
  }

  /// By the ending of the name alone.
  static func looksLikeImage(_ name: String) -> Bool {
    guard let dot = name.lastIndex(of: ".") else { return false }
    return endings.contains(name[name.index(after: dot)...].lowercased())
  }

  static func join(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }
}
