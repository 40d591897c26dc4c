import EventLoop
import Foundation
import HTTPTransfer
import TestSupport

/// A client on a loop of its own, both gone when the function returns.
func withClient<R: Sendable>(
  _ configure: (inout Configuration) -> Void = { _ in },
  _ body: (HTTPClient) async throws -> R
) async throws -> R {
  var configuration = Configuration()
  configure(&configuration)
  let loop = try EventLoop(name: "http-test")
  let client = HTTPClient(loop: loop, configuration: configuration)
  let result: Result<R, any Error>
  do { result = .success(try await body(client)) } catch { result = .failure(error) }
  await client.close()
  loop.shutdown()
  return try result.get()
}

/// A raw server and a client for it.
func withServer<R: Sendable>(
  _ handler: @escaping @Sendable (RawConnection) throws -> Void,
  configure: (inout Configuration) -> Void = { _ in },
  _ body: (HTTPClient, RawServer) async throws -> R
) async throws -> R {
  let server = try RawServer(handler)
  defer { server.stop() }
  return try await withClient(configure) { client in try await body(client, server) }
}

extension HTTPClient {
  /// The answer or the error of a request.
  func outcome(_ request: Request, deadline: Duration = patience) async -> Result<Response, TransferError> {
    do throws(TransferError) {
      return .success(try await send(request, deadline: deadline))
    } catch {
      return .failure(error)
    }
  }

  /// The error of a request that must fail; nil when it does not.
  func failure(_ request: Request, deadline: Duration = patience) async -> TransferError? {
    switch await outcome(request, deadline: deadline) {
    case .success: nil
    case .failure(let error): error
    }
  }
}
