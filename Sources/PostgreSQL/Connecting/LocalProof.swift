internal import Clibpq
internal import Clinux
internal import Glibc

/// What a server on this machine has to prove before it gets a password or anything else.
///
/// While the server is down any other login of the machine can listen in its place: on its port, or on its socket where
/// all may write into the folder. libpq gives whoever listens the password as it is, if that is what they ask for.
public struct LocalProof {
  /// What to do about a server that did not prove who it is.
  public static let advice =
    "See who listens there (ss -ltxp). On this machine a server that is given a password has to speak SCRAM (with libpq 15"
    + " over TLS), and a socket has to be of postgres, root, this login or whom requirepeer= names. --database-proof"
    + " as-given takes the server as it is."

  /// What there is to do before more is said.
  enum Verdict: Equatable {
    /// The server proves enough.
    case enough
    /// These settings have libpq demand it; the server has to be asked anew.
    case demands([String: String])
    /// It cannot prove it; why not.
    case refused(String)
  }

  /// The server.
  let host: HostList.Host
  /// What libpq goes by.
  let settings: [String: String]
  /// Whether libpq has a password for it.
  let hasPassword: Bool
  /// Who listens at its socket, where it is one.
  let peer: uid_t?
  /// The version of libpq, such as 150004.
  var libpqVersion = Self.usedVersion

  /// The version of the libpq that is used.
  static var usedVersion: Int32 { PQlibVersion() }

  func verdict(trusted: (uid_t) -> Bool = LocalProof.isTrusted) -> Verdict {
    if host.isSocket { return socketVerdict(trusted) }
    // Another machine is asked for this before, see `HostList.verified`.
    if settings["sslmode"] == "verify-full" || !hasPassword { return .enough }
    if let methods = settings["require_auth"] {
      let areProofs = methods.split(separator: ",").allSatisfy { ["scram-sha-256", "gss"].contains($0) }
      return areProofs
        ? .enough : .refused("with require_auth=\(methods) whoever listens there can get the password")
    }
    if settings["channel_binding"] == "require" { return .enough }
    if libpqVersion >= 160_000 { return .demands(["require_auth": "scram-sha-256"]) }
    guard settings["sslmode"] != "disable", settings["channel_binding"] != "disable" else {
      return .refused("without TLS this libpq (15) gives the password to whoever listens there")
    }
    // Without `require_auth` it is TLS that binds the password's proof to the server.
    return .demands(["channel_binding": "require"])
  }

  private func socketVerdict(_ trusted: (uid_t) -> Bool) -> Verdict {
    // libpq itself looks whether it is the one who is named.
    guard settings["requirepeer"] == nil, let peer, !trusted(peer) else { return .enough }
    let who =
      peer == Self.unknown
      ? "65534, which is nobody or a user whom this user namespace does not know (PrivateUsers= of a unit)"
      : "\(peer)"
    return .refused("the user who listens there is \(who), not postgres, root or this login")
  }

  /// What the system gives for a user whom this process's user namespace does not have.
  private static let unknown: uid_t = 65534

  /// Whether a user may be the database server: root, postgres, or whoever runs this.
  static func isTrusted(_ user: uid_t) -> Bool {
    if user == 0 || user == geteuid() { return true }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 16384)
    guard getpwnam_r("postgres", &entry, &text, text.count, &found) == 0, found != nil else { return false }
    return entry.pw_uid == user
  }

  /// Who listens at the other end of a connected Unix socket.
  static func peer(of descriptor: Int32) -> uid_t? {
    uid_t(exactly: linux_peer_user(descriptor))
  }
}
