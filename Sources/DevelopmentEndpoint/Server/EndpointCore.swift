/// What all requests share.
final class EndpointCore: Sendable {
  let configuration: EndpointConfiguration
  let clock: EndpointClock
  let accounts: AccountDirectory
  let cache: AnalysisCache
  let buffers = ImageBuffers()
  let tries = TryCounter()
  let statistics = Statistics()
  let log: UploadLog?
  let held: HeldConnections

  init(_ configuration: EndpointConfiguration, clock: EndpointClock) throws(EndpointError) {
    try configuration.validate()
    guard Randomness.isReady else { throw EndpointError(.system, "the system gives no random bytes") }
    self.configuration = configuration
    self.clock = clock
    accounts = try AccountDirectory(configuration: configuration, clock: clock)
    cache = AnalysisCache(
      capacity: configuration.cacheCapacity, decodes: configuration.decodesPictures,
      advises: configuration.dialect == .server)
    log = try configuration.logPath.map { path throws(EndpointError) in try UploadLog(path: path) }
    held = try HeldConnections()
  }
}
