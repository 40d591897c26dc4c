import Foundation
import TestSupport
import Testing

/// A network of a program's own, in which an address of the internet is this machine and a host's name leads there:
/// what is refused to be fetched from the loopback can so be fetched by the real program, by all its rules.
///
/// It takes the rights of root outside a locked-down container. Tests that need it are disabled by name where they
/// are missing.
enum NetworkNamespace {
  /// A script that makes the network, starts a server of pictures in it, and runs the program.
  ///
  /// - Parameter server: The words that start the server; it says a line when it listens.
  static func script(hosts: String, authorities: String, server: String) -> String {
    """
    exec unshare --net --mount --propagation private bash -c '
      ip link set lo up && ip addr add 8.8.4.4/32 dev lo &&
      mount --bind \(hosts) /etc/hosts &&
      mount --bind \(authorities) /etc/ssl/certs/ca-certificates.crt || exit 99
      coproc server { \(server); }
      read -r line <&"${server[0]}"
      "$0" "$@"
      # Bash would become its last command, and the server end with it.
      exit $?
    ' "$0" "$@"
    """
  }
}

extension Trait where Self == ConditionTrait {
  /// Runs the test only where networks and mounts may be made.
  static var needsNetworkNamespace: Self {
    .enabled("this needs the right to make a network: run as root, outside a locked-down container, with ip")
    {
      let ended = try await HelperProgram.run(
        "/usr/bin/unshare",
        [
          "--net", "--mount", "bash", "-c",
          "ip link set lo up && ip addr add 8.8.4.4/32 dev lo && mount --bind /etc/hosts /etc/hosts",
        ])
      return ended.status == 0
    }
  }
}
