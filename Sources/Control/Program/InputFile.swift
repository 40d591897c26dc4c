import CommandLineTool
import Glibc
import Support

/// Reads files that a person named. Blocks: call it where a thread may wait.
enum InputFile {
  /// Why a file was not read, as a message that stands after its name.
  struct Fault: Error, Sendable, Equatable {
    /// A stable word for JSON.
    let code: String
    let sentence: String
    let advice: String?
    /// How many bytes a file has that is too large, where that is known.
    let size: Int?

    init(_ code: String, _ sentence: String, advice: String? = nil, size: Int? = nil) {
      self.code = code
      self.sentence = sentence
      self.advice = advice
      self.size = size
    }
  }

  private static let chunk = 1 << 18

  /// The code of a file that is not there or cannot be read.
  static let unreadableCode = "unreadable"

  /// The bytes of a regular file of at most `limit` bytes.
  static func read(_ path: String, limit: Int) throws(Fault) -> [UInt8] {
    // Not blocking, or opening a named pipe would wait for a writer.
    let descriptor = open(FileName.cString(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unreadable(errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unreadable(errno) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw Fault(unreadableCode, "It is a folder.", advice: "Name the files in it.")
    default: throw Fault(unreadableCode, "It is not a regular file.")
    }
    guard status.st_size <= limit else { throw tooLarge(Int(status.st_size), limit: limit) }
    return try drain(descriptor, expected: Int(status.st_size), limit: limit)
  }

  /// The text of a file without which the command can do nothing.
  static func readText(_ path: String, limit: Int) throws(CommandFailure) -> [UInt8] {
    do {
      return try read(path, limit: limit).withoutByteOrderMark
    } catch {
      throw CommandFailure(
        .unreadableInput, "\(FileName.shown(path)): \(error.sentence)", advice: error.advice)
    }
  }

  /// Everything that a descriptor gives until its end, at most `limit` bytes.
  static func read(descriptor: Int32, name: String, limit: Int) throws(CommandFailure) -> [UInt8] {
    do {
      return try drain(descriptor, expected: 0, limit: limit)
    } catch {
      throw CommandFailure(.unreadableInput, "\(name): \(error.sentence)", advice: error.advice)
    }
  }

  /// Whether a path leads to a folder; false also where it leads nowhere.
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(FileName.cString(path), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  static func tooLarge(_ size: Int?, limit: Int) -> Fault {
    let found = size.map { "\($0)" } ?? "more than \(limit)"
    return Fault("file_too_large", "The file has \(found) bytes; at most \(limit) are accepted.", size: size)
  }

  static func unreadable(_ number: Int32) -> Fault {
    Fault(unreadableCode, "It cannot be read: \(String(cString: strerror(number))).")
  }

  private static func drain(_ descriptor: Int32, expected: Int, limit: Int) throws(Fault) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(expected + 1)
    while true {
      // One more than is known of, so that the end of a file is met without another round.
      let room = max(expected + 1 - bytes.count, chunk)
      let wanted = min(room, limit + 1 - bytes.count)
      guard wanted > 0 else { throw tooLarge(nil, limit: limit) }
      let got = append(wanted, to: &bytes, from: descriptor)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw unreadable(errno) }
      guard got > 0 else { return bytes }
    }
  }

  private static func append(_ wanted: Int, to bytes: inout [UInt8], from descriptor: Int32) -> Int {
    var got = 0
    let part = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
      got = Glibc.read(descriptor, buffer.baseAddress, wanted)
      count = max(0, got)
    }
    bytes += part
    return got
  }
}

/// The files of a folder that may be images. Blocks: call it where a thread may wait.
struct FolderListing: Sendable, Equatable {
  /// Paths of the image-like files, sorted by the bytes of their names.
  let images: [String]
  /// The names of other files, sorted so too; hidden ones are not among them.
  let others: [String]
  /// The names of the folders in it, whose files are not looked at.
  let folders: [String]

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
    var others: [String] = []
    var folders: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        FileName.text(bytes.prefix { $0 != 0 })
      }
      guard !name.hasPrefix(".") else { continue }
      let path = Self.join(folder, name)
      if InputFile.isFolder(path) {
        folders.append(name)
      } else if Self.looksLikeImage(name) {
        names.append(name)
      } else {
        others.append(name)
      }
    }
    images = Self.sorted(names).map { Self.join(folder, $0) }
    self.others = Self.sorted(others)
    self.folders = Self.sorted(folders)
  }

  private static func sorted(_ names: [String]) -> [String] {
    names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
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
