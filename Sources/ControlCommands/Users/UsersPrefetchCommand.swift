import CommandLineTool
import Formatting

/// `analysisctl users prefetch-photos`.
enum UsersPrefetchCommand {
  static let limit = Option("limit", .int(in: 1...10_000), default: 100, help: "How many photos at most.")
  static let after = Option<String?>("after", .string, help: "Go on behind this user.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "prefetch-photos", abstract: "Fetch the photos of a page of users into the cache.",
      discussion: """
        Photos that are in the folder of --url-cache and not older than a day are left as they are. They are \
        encrypted there with the keys of --key-file, without which there is no such folder. A photo that cannot be fetched does not stop the others, and the exit code is 4; where no user of the page has a photo \
        it is 5.
        """,
      examples: [
        Example(
          "analysisctl users prefetch-photos --config /etc/analysis/analysisctl.conf", "The first users'."),
        Example("analysisctl users prefetch-photos --after u100 --limit 1000", "The following ones'."),
      ],
      inputs: [
        limit, after, RemoteImageOptions.hosts, RemoteImageOptions.cache, RemoteImageOptions.cacheSize,
        KeyFileOption.path,
      ],
      exitCodes: [
        .done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater, .permission,
      ]
    ) { context in
      let order = try RemoteImageArguments(context.values)
      guard order.isOn else { throw RemoteImageArguments.off }
      guard order.cache != nil else {
        throw ControlError.usage(
          "there is no cache to fill",
          advice: "Name its folder: url-cache in the configuration file, or --url-cache.")
      }
      let keys = try await KeyFileOption.readRequired(context)
      let (after, limit) = (try context.values[after], try context.values[limit])
      return try await context.withSession(dependencies) { session in
        let response = try await order.withCache(session, dependencies, keys: keys) { images in
          try await UsersPrefetchInteractor(database: session.database, images: images)
            .answer(after: after, limit: limit)
        }
        try session.view.show(response, by: UsersPrefetchPresenter.self)
        if let next = response.next, !session.view.isJSON {
          session.console.say("There may be more: --after \(printable(next))")
        }
        return response.exitCode
      }
    }
  }
}
