internal import HTTPTransfer
internal import Support
internal import Synchronization

/// Whether an answer belongs to the picture that was sent.
///
/// A connection out of step, a cache or a faulty server may answer with what was found in another picture, whole and
/// well-formed. What such an answer says of itself gives it away.
struct AnswerMatch: Sendable {
  /// How old an answer may be, in seconds. A job that is tried again may get what its first call found, and a job is
  /// tried again within days.
  private static let greatestAge = 31 * 86_400.0

  private let known = KnownAnswers()

  /// Checks an answer that is well otherwise.
  ///
  /// - Parameters:
  ///   - value: The answer's JSON, of which `analysis` was made.
  ///   - now: Seconds since 1970, where the answer does not say when it was sent.
  /// - Throws: What contradicts the request.
  func check(
    _ analysis: Analysis, _ value: JSONPart, of response: Response, to picture: Fingerprint, now: Double
  ) throws(DecodingFailure) {
    if let count = value["debug_info"]?["image_data_length"]?.number, !picture.hasLength(count) {
      throw DecodingFailure("debug_info.image_data_length", "is not the length of the image that was sent")
    }
    // RFC 9111, section 5.1: only what comes out of a cache is older than the time that its call took.
    if let age = response.headers["Age"].flatMap({ Double($0) }), age > response.timing.total.inSeconds + 1 {
      throw DecodingFailure("", "comes from a cache, by its header Age")
    }
    let sentAt = response.headers["Date"].flatMap { RetryAfter.date($0, now: now) } ?? now
    if let answeredAt = analysis.answeredAt, answeredAt < sentAt - Self.greatestAge {
      throw DecodingFailure("timestamp", "is more than 31 days before the request")
    }
    guard known.isNew(analysis.id, or: picture) else {
      throw DecodingFailure("id", "is that of another image's answer")
    }
  }
}

/// An image's length and some of its bytes: enough to tell it from others without reading all of it.
struct Fingerprint: Hashable {
  private let length: Int
  private let sample: Int

  /// Reads 64 words of an image, spread over all of it.
  init(_ image: any BodyBytes) {
    length = image.count
    sample = image.withUnsafeBytes { bytes in
      var hasher = Hasher()
      let words = bytes.count / 8
      guard words > 0 else {
        hasher.combine(bytes: bytes)
        return hasher.finalize()
      }
      for word in stride(from: 0, to: words, by: max(1, words / 64)) {
        hasher.combine(bytes.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self))
      }
      return hasher.finalize()
    }
  }

  /// Whether an endpoint that counts bytes, or characters of base64, would have counted so many.
  func hasLength(_ count: Double) -> Bool {
    count == Double(length) || count == Double((length + 2) / 3 * 4)
  }
}

/// The ids of an endpoint's latest answers, with the images that they were for.
private final class KnownAnswers: Sendable {
  private static let capacity = 512

  private struct State {
    var images: [String: Fingerprint] = [:]
    /// The ids in the order in which they came, as a ring.
    var order: [String] = []
    var next = 0
  }

  private let state = Mutex(State())

  /// Whether an id was not met yet, or for this image only: the same call may be answered twice.
  func isNew(_ id: String, or image: Fingerprint) -> Bool {
    state.withLock { state in
      if let known = state.images[id] { return known == image }
      state.images[id] = image
      if state.order.count < Self.capacity {
        state.order.append(id)
      } else {
        state.images[state.order[state.next]] = nil
        state.order[state.next] = id
        state.next = (state.next + 1) % Self.capacity
      }
      return true
    }
  }
}
