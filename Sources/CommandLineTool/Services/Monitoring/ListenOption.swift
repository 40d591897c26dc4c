public import HTTPServing

extension ValueFormat where Value == ListenAddress {
  /// An address and a port: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`.
  public static var listenAddress: Self {
    ValueFormat(
      name: "ADDRESS:PORT",
      read: { ListenAddress($0) },
      else: "is not a numeric address with a port, such as 127.0.0.1:9464 or [::1]:9464",
      text: \.description)
  }
}

/// Where a program may listen: on the loopback, and wider only where that was asked for by a flag of its own.
public struct ListenRule: Sendable {
  private let option: String
  private let flag: String

  /// The rule of an option and its flag, as they are typed.
  public init(option: String, flag: String) {
    self.option = option
    self.flag = flag
  }

  /// Refuses an address that other machines reach, unless the flag was given; then it warns.
  public func check(_ address: ListenAddress, isAllowed: Bool, _ console: Console) throws(CommandFailure) {
    guard !address.isLoopback else { return }
    guard isAllowed else {
      throw .usage(
        "\(option) \(address) lets other machines in, and who reads there is not asked who it is.",
        advice: "Listen on 127.0.0.1, or give \(flag) too where the network is closed to others.")
    }
    console.say(
      "warning: \(option) \(address) lets other machines in: who reaches it reads counts of jobs, addresses of endpoints "
        + "and the database's size, without TLS and without a password.")
  }

  /// Starts to serve there.
  public func serve(
    _ address: ListenAddress, _ routes: [HTTPRoute], bounds: HTTPServer.Bounds = HTTPServer.Bounds(),
    events: HTTPEvents? = nil
  ) throws(CommandFailure) -> HTTPServer {
    do throws(HTTPServingError) {
      return try HTTPServer(address, routes, bounds: bounds, events: events)
    } catch {
      throw .usage("\(option): \(error.description).", advice: "Name another address or port.")
    }
  }
}
