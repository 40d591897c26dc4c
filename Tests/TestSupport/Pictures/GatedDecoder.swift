import Glibc

/// A program in the place of `image-decoder`, which writes down the width of each picture as it comes and refuses it:
/// one that is 1000 wide not before it is told to.
public struct GatedDecoder: Sendable {
  /// The interpreter.
  public let program = "/usr/bin/python3"
  /// What it is to run.
  public let arguments: [String]
  private let folder: TemporaryFolder

  /// - Parameters:
  ///   - greeting: What the programs that use it expect.
  ///   - isNiceForbidden: Whether it ends as under a filter of system calls when it is to lower its priority.
  public init(greeting: [UInt8], isNiceForbidden: Bool = false) throws {
    folder = try TemporaryFolder()
    let script = try folder.write(
      """
      import os, signal, struct, sys
      if \(isNiceForbidden ? 1 : 0) and "--nice" in sys.argv: os.kill(os.getpid(), signal.SIGSYS)
      folder = os.path.dirname(sys.argv[0])
      words = b"damaged\\n\\nNo picture."
      os.write(1, bytes(\(greeting)))
      def take(count):
        data = b""
        while len(data) < count:
          part = os.read(0, count - len(data))
          if not part: sys.exit(0)
          data += part
        return data
      while True:
        picture = take(struct.unpack("7q", take(56))[0])
        width = struct.unpack(">I", picture[16:20])[0]
        with open(folder + "/decoded", "a") as file: file.write("%d\\n" % width)
        if width == 1000:
          with open(folder + "/gate") as file: file.read()
        os.write(1, struct.pack("8q", 0, len(words), 0, 0, 0, 0, 0, 0) + words)

      """, to: "decoder")
    arguments = [script]
    guard mkfifo(folder.path("gate"), 0o600) == 0 else {
      throw TestSupportError("mkfifo failed with errno \(errno)")
    }
  }

  /// The beginning of a PNG, which says how large it is; that there is no more only a real decoder finds out.
  public static func picture(_ width: Int, _ height: Int = 1000) -> [UInt8] {
    func bytes(_ number: Int) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + bytes(13) + Array("IHDR".utf8) + bytes(width)
      + bytes(height) + [8, 2, 0, 0, 0] + bytes(0)
  }

  /// The widths of those that came to be decoded.
  public var decoded: [Int] {
    guard let bytes = try? folder.bytes("decoded") else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
  }

  /// Lets the one that is held be refused.
  public func open() async throws {
    try await eventually("the decoder to wait") {
      close(Glibc.open(folder.path("gate"), O_WRONLY | O_NONBLOCK)) == 0
    }
  }
}
