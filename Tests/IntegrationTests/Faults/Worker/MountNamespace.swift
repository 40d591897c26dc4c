import Foundation
import TestSupport
import Testing

/// File systems of a program's own, so that a disk is full or read-only for it alone.
///
/// It takes the right to mount, which root has outside a locked-down container. Tests that need it are
/// disabled by name where it is missing.
enum MountNamespace {
  /// A script that mounts, then becomes the program.
  static func script(_ mounting: String) -> String {
    "exec unshare --mount --propagation private bash -c '\(mounting) && exec \"$0\" \"$@\"' \"$0\" \"$@\""
  }
}

extension Trait where Self == ConditionTrait {
  /// Runs the test only where file systems may be mounted.
  static var needsMounting: Self {
    .enabled("this needs the right to mount: run as root, outside a locked-down container") {
      let ended = try await HelperProgram.run(
        "/usr/bin/unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
      return ended.status == 0
    }
  }
}
