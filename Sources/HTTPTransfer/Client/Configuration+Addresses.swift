extension Configuration {
  /// Checks that requests to an address would be let out, so that a wrong setting is told when it is read
  /// and not at the first request.
  ///
  /// - Throws: `invalidRequest` when the address is malformed; `refusedByPolicy` for another scheme than
  ///   `https`, plain `http` where it is not allowed, and a user name or password in the address.
  public func check(_ address: String) throws(TransferError) {
    _ = try Destination(address, plainHTTP: plainHTTP)
  }
}
