extension RemoteImageCache {
  /// Fetches what is not here yet of a page of images, so that they are here when they are shown.
  ///
  /// - Parameters:
  ///   - addresses: The addresses, in any number; the same one twice is fetched once.
  ///   - atOnce: How many are asked for at once.
  ///   - done: Told of each as it is done: its place among the addresses, and why it failed, if it did. One that
  ///     fails does not stop the others.
  ///
  /// Ends early, with the others left out, when the task is cancelled.
  public func prefetch(
    _ addresses: [String], atOnce: Int = 8,
    done: @escaping @Sendable (_ place: Int, _ failure: RemoteImageError?) -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for (place, address) in addresses.enumerated() {
        if place >= max(1, atOnce) { _ = await group.next() }
        guard !Task.isCancelled else { break }
        group.addTask {
          do throws(RemoteImageError) {
            _ = try await self.image(at: address)
            done(place, nil)
          } catch {
            done(place, error)
          }
        }
      }
    }
  }
}
