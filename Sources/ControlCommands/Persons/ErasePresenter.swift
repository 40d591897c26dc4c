import Administration
import CommandLineTool
import Formatting
import JobQueue

/// Shows what was removed of a person.
enum ErasePresenter: Presenter {
  static func json(_ response: EraseResponse) -> JSONValue {
    let erasure = response.erasure
    return [
      "user": .text(reference(response.person)), "number": .string(String(erasure.userID)),
      "at": .time(response.at),
      "dry_run": .bool(response.isDry), "open": .count(erasure.open),
      "cancelled": .count(erasure.cancelled), "images": .count(erasure.images),
      "image_bytes": .count(erasure.imageBytes), "results": .count(erasure.results),
      "dead": .count(erasure.dead), "attempts": .count(erasure.attempts), "jobs": .count(erasure.jobs),
      "keys": .count(erasure.keys), "profiles": .count(erasure.profiles),
      "statement_lines": .count(erasure.statementLines), "cached_photo": .text(response.cachedPhoto?.name),
      "cached_photo_reason": .text(response.cachedPhoto?.reason), "audit": .text(response.entry?.description),
    ]
  }

  static func text(_ response: EraseResponse, width: Int?, paint: Paint) -> String {
    let erasure = response.erasure
    let user = reference(response.person).map(printable) ?? "number \(erasure.userID)"
    guard erasure.open == 0 else {
      return paint.red("Nothing was removed")
        + ": \(erasure.open) jobs of \(user) have not ended. Try again when they have, or cancel them with "
        + "--cancel-open.\n"
    }
    let facts = Facts([
      ("jobs cancelled", String(erasure.cancelled)),
      ("images", "\(erasure.images) (\(erasure.imageBytes) bytes)"), ("results", String(erasure.results)),
      ("causes of dead jobs", String(erasure.dead)), ("failed attempts", String(erasure.attempts)),
      ("file names and keys", String(erasure.jobs + erasure.keys)), ("profiles", String(erasure.profiles)),
      ("lines of statements", String(erasure.statementLines)),
      ("cached photo", response.cachedPhoto.map(words)),
      ("audit", response.entry?.description),
    ])
    let first =
      response.isDry
      ? "This would be removed of \(user), and was not:\n"
      : "\(user) is erased. What stays are counts under erased-\(erasure.userID).\n"
    return first + facts.text
  }

  private static func words(_ photo: CachedPhoto) -> String {
    switch photo {
    case .removed: "removed from this machine"
    case .absent: "not on this machine"
    case .notLookedFor(let reason): "not looked for: \(reason)"
    case .notRemoved(let reason): "not removed: \(reason)"
    }
  }

  private static func reference(_ person: PersonEraser.Person) -> String? {
    if case .reference(let reference) = person { reference } else { nil }
  }
}
