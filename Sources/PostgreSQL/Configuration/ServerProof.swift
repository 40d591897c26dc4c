/// What a server that is not on this machine has to prove before anything is told to it.
public enum ServerProof: String, Sendable, CaseIterable {
  /// Its identity, by a certificate of a trusted authority in its own name (libpq's `sslmode=verify-full`). Where the
  /// connection string leaves the mode open it becomes this; a weaker one that it names is refused. Sockets and
  /// loopback addresses are this machine, of which nothing is asked.
  case verified
  /// What the connection string asks for and no more: without a mode, libpq takes any certificate and also none.
  case asGiven = "as-given"
}
