import BenchmarkKit
import Foundation
import TestSupport

/// An `analysisctl serve` under test.
final class DashboardProcess: Sendable {
  let process: MeasuredProcess
  private let port: UInt16

  /// Starts one and waits until it listens.
  ///
  /// - Parameter conninfo: The database, with the login as which it reads it.
  init(_ settings: BenchmarkSettings, _ conninfo: String) async throws {
    process = try MeasuredProcess(
      settings.program("analysisctl"), ["serve", "--listen", "127.0.0.1:0", "--database", conninfo])
    do {
      try await process.wait(for: "listening") { _, errors in Self.port(in: errors) != nil }
    } catch {
      process.send(SIGKILL)
      throw error
    }
    port = Self.port(in: process.errorsSoFar) ?? 0
  }

  private static func port(in text: String) -> UInt16? {
    text.firstMatch(of: /Serving http:\/\/127\.0\.0\.1:([0-9]+)\//).flatMap { UInt16($0.1) }
  }

  /// A browser in front of it. Its calls block, so it is for a thread of its own.
  func browser() throws -> DashboardBrowser { try DashboardBrowser(port: port) }

  /// Ends it.
  func stop() async {
    process.send(SIGTERM)
    _ = await process.ended()
  }
}

/// A browser: a connection for pages, which stays open, and one for events while it listens.
final class DashboardBrowser {
  private let port: UInt16
  private let pages: RawClient
  private var events: RawClient?
  /// The cookie and the token of a form.
  private var session: (cookie: String, token: String)?

  fileprivate init(port: UInt16) throws {
    self.port = port
    pages = try RawClient(port: port)
  }

  /// Loads a page whole, and answers how long that took and how long the page is.
  ///
  /// - Parameter isUpdate: Whether it is loaded to bring the page up to date that is shown.
  /// - Throws: `BenchmarkError` when it is not shown.
  func load(_ path: String, isUpdate: Bool = false) throws -> (milliseconds: Double, bytes: Int) {
    let begin = ContinuousClock.now
    let answer = try pages.request("GET", path, headers: isUpdate ? ["X-Live": "1"] : [:])
    let time = ContinuousClock.now - begin
    guard answer.status == 200, answer.ending == .complete else {
      throw BenchmarkError("\(path) was answered with \(answer.status): \(answer.text.prefix(500))")
    }
    return (time / .milliseconds(1), answer.body.count)
  }

  /// Has the dashboard forget what it has read, as every change does: it resumes what is not paused.
  func forget() throws {
    let path = "/resume?type=ear"
    let session = try session ?? openForm(path)
    self.session = session
    let answer = try pages.request(
      "POST", path,
      headers: ["Cookie": session.cookie, "Content-Type": "application/x-www-form-urlencoded"],
      body: Array("token=\(session.token)".utf8))
    guard answer.status == 303 else {
      throw BenchmarkError("\(path) was answered with \(answer.status): \(answer.text.prefix(500))")
    }
  }

  private func openForm(_ path: String) throws -> (cookie: String, token: String) {
    let form = try pages.request("GET", path)
    guard let cookie = form.headers["set-cookie"]?.split(separator: ";").first,
      let token = form.text.firstMatch(of: /name="token" value="([0-9a-f]{64})"/)
    else { throw BenchmarkError("\(path) shows no form: \(form.text.prefix(500))") }
    return (String(cookie), String(token.1))
  }

  /// Begins to listen for events. The server notices closed browsers only at the next event; until then there may be
  /// too many.
  func listen() throws {
    let patience = ContinuousClock.now + .seconds(20)
    while true {
      let client = try RawClient(port: port)
      // The server closes the connection if it refuses.
      try client.send("GET", "/events", headers: ["Connection": "close"])
      do {
        try client.expect("retry:")
        events = client
        return
      } catch {
        guard ContinuousClock.now < patience else { throw error }
        // The server sends no signal when it has room again. This thread does nothing else.
        usleep(200_000)
      }
    }
  }

  /// Waits for the event that says that there is something new.
  func awaitChange() throws { try events?.expect("event: changed") }
}
