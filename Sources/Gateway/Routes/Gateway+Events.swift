internal import HTTPServing
internal import Support

extension Gateway {
  /// All that happens to a user, for as long as the app listens and its token is valid.
  var eventsRoute: HTTPRoute {
    HTTPRoute(.get, "/api/events") { request in
      await self.answer(request) { caller in
        // A token that was just revoked opens nothing.
        _ = try await self.users.fresh(caller.token)
        guard let place = self.listeners.take(caller.key) else { throw APIFailure.manyListeners }
        let position = request.headers["last-event-id"].map { EventPosition($0) } ?? EventPosition()
        // A topic of its own: what one client is sent is none of another's.
        let topic = Hexadecimal.random(bytes: 16)
        let following = FollowedJob()
        return .events(
          self.events, topic: topic,
          opened: {
            following.begin { [events = self.userEvents] in
              await events.listen(caller.token, after: position, to: topic)
            }
          }, closed: { withExtendedLifetime(place) { following.end() } })
      }
    }
  }
}
