import Dispatch
import Glibc

/// A small file system of a test's own, in memory, that can be filled.
///
/// It is mounted where the other processes of this machine see it too, so it takes root; whoever makes it is to
/// say so by a trait. When this process ends, however it ends, it is unmounted.
public final class SmallVolume: Sendable {
  /// Where it is mounted.
  public let path: String
  private let mount: Supervisor

  /// Mounts a volume.
  ///
  /// - Throws: `TestSupportError` when this process may not mount.
  public init(megabytes: Int) async throws {
    var template = Array("/tmp/aqvolume-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSupportError("mkdtemp failed with errno \(errno)") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    self.path = path
    let mount = try Supervisor(script: Self.script, arguments: [path, "\(megabytes)m"])
    self.mount = mount
    let answer = await withCheckedContinuation { done in
      DispatchQueue(label: "volume").async { done.resume(returning: mount.readLine()) }
    }
    guard answer == "mounted" else { throw TestSupportError("No volume could be mounted: \(answer)") }
  }

  /// Unmounts it, whatever is on it.
  public func remove() async {
    await withCheckedContinuation { done in
      DispatchQueue(label: "volume").async { [mount] in
        mount.end()
        done.resume()
      }
    }
  }

  /// Fills it to the last block by one file.
  public func fill() throws {
    let file = open(ballast, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw TestSupportError("\(ballast) cannot be made: errno \(errno)") }
    defer { close(file) }
    let piece = [UInt8](repeating: 0, count: 64 << 10)
    var size = piece.count
    // Ever smaller pieces, until not one byte more goes in.
    while size > 0 {
      if write(file, piece, size) < size { size /= 2 }
    }
  }

  /// Takes the ballast away again.
  public func empty() { unlink(ballast) }

  private var ballast: String { "\(path)/ballast" }

  private static let script = """
    folder=$1 size=$2
    trap '' INT TERM HUP
    cd /
    mount -t tmpfs -o "size=$size,mode=0755" analysis-test "$folder" || { rmdir "$folder"; exit 1; }
    echo mounted
    read -r end
    umount -l "$folder"
    rmdir "$folder"
    """
}
