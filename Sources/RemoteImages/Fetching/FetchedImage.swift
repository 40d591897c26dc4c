/// What a host gave for an image's address. Whether it is an image is judged by whoever cleans it, from the bytes.
struct FetchedImage: Sendable, Equatable {
  let bytes: [UInt8]
  let freshness: Freshness
}
