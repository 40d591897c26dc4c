internal import HTTPTransfer
internal import JobQueue
internal import PostgreSQL

/// A claimed job with its image.
struct ReadyJob: Sendable {
  let job: ClaimedJob
  let image: Blob
}

/// An image's bytes inside the database's answer, read from there into the socket.
struct UploadBytes: BodyBytes {
  let image: Blob

  var count: Int { image.count }

  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try image.withUnsafeBytes(body)
  }
}
