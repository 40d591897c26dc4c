import CommandLineTool
import Images
import Support

/// Says where a user's photo is, and has this machine's copy be the picture that is there now: under the same address
/// there may be another one than before.
struct PhotoChange: Sendable {
  /// The photo's address; nil for none.
  let address: String?
  private let remote: RemoteImageArguments
  private let keys: KeyRing?

  /// The options that a command of it takes.
  static let inputs: [any Input] = [
    RemoteImageOptions.hosts, RemoteImageOptions.photoBase, RemoteImageOptions.cache,
    RemoteImageOptions.cacheSize,
    KeyFileOption.path,
  ]

  /// Checks an address, before anything is asked of the database.
  ///
  /// - Parameter given: The address or the name below `--photo-base`, or - for standard input; nil to remove the photo.
  init(_ given: String?, _ context: ControlContext) async throws {
    remote = try RemoteImageArguments(context)
    keys = try await KeyFileOption.read(context)
    guard let given else {
      address = nil
      return
    }
    guard remote.isOn else { throw remote.off }
    let photo = given == "-" ? try await context.dependencies.address() : given
    do {
      address = try (try context[RemoteImageOptions.photoBase]).address(
        of: photo, among: remote.hosts, in: context.dependencies.network)
    } catch let fault as PhotoBase.Fault {
      throw CommandFailure(.refused, "the photo's name \(fault.message)")
    }
  }

  /// Makes the change.
  func make(of user: String, _ session: ControlSession) async throws -> PhotoResponse {
    let users = UserDirectory(session.database)
    let before = try await users.required(user).profile?.photoURL
    try await users.setPhoto(user, url: address)
    var response = PhotoResponse(
      user: user, host: address.flatMap { RemoteAddress.host(of: $0) }, isReplaced: before != nil, copy: nil)
    guard remote.cache != nil, keys != nil else { return response }
    let remover = PhotoRemover(folder: remote.cache, keys: keys)
    for former in Set([before, address].compactMap { $0 }) {
      if let reason = await remover.remove(former, isDry: false).reason {
        session.console.say("The copy on this machine was \(printable(reason))")
      }
    }
    if let address {
      response.copy = try await remote.withCache(session, keys: keys) { cache in
        do throws(RemoteImageError) {
          _ = try await cache?.image(at: address)
          return .fetched
        } catch {
          return .failed(error.message)
        }
      }
    }
    return response
  }
}

/// A photo that was set or removed. Of its address only the host is named.
struct PhotoResponse: Sendable, Equatable, Presentable {
  /// This machine's copy of the picture.
  enum Copy: Sendable, Equatable {
    case fetched
    case failed(String)
  }

  let user: String
  /// Nil for no photo.
  let host: String?
  /// Whether there was one before.
  let isReplaced: Bool
  /// Nil where none is kept.
  var copy: Copy?

  /// Whether the copy is the picture that is there now, or need not be.
  var exitCode: ExitCode { if case .failed = copy { .refused } else { .done } }

  private var outcome: String {
    switch (host != nil, isReplaced) {
    case (true, true): "replaced"
    case (true, false): "created"
    case (false, true): "removed"
    case (false, false): "unchanged"
    }
  }

  /// With `from`, as the answers of the other commands that set something of a user.
  var json: JSONValue {
    let copy: (String?, String?) =
      switch self.copy {
      case .fetched: ("fetched", nil)
      case .failed(let reason): ("failed", reason)
      case nil: (nil, nil)
      }
    return [
      "user": .string(user), "photo": .string(host ?? "none"), "from": .null, "outcome": .string(outcome),
      "copy": .text(copy.0), "message": .text(copy.1),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let line = "photo of \(printable(user)): \(printable(host ?? "none"))\n"
    guard case .failed(let reason) = copy else { return line }
    return line + "\(paint.red("not fetched")) into the folder of --url-cache: \(printable(reason))\n"
  }
}
