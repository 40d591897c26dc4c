import CommandLineTool
import Cqrencode
import Images
import Queue
import Support

enum UsersCodeCommand {
  static let command = ControlCommand(
    "code", abstract: "Make a code by which a user's app logs in, and show it, as a QR code too.",
    discussion: """
      The code counts once, for an hour, for this user alone. Another one takes its place. The app sends it to \
      analysis-gateway (POST /api/login) and has a session, which the user ends in the app, and the office with \
      analysisctl users token revoke. Who has the code reads the user's analyses: give it to nobody else. The audit \
      records who made it, and that a session began by it.
      """,
    examples: [
      Example("analysisctl users code u1", "Show it to the user, who is here."),
      Example("analysisctl users code u1 --json", "For a program that prints it."),
    ],
    inputs: [ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let user = try context[UsersCommand.user]
    return try await context.withSession { session in
      let code = try LoginCode(shard: try await ShardDirectory(session.database).shard(of: user))
      let expiresAt = try await TokenDirectory(session.database).addCode(
        code.hash, of: user, inShard: code.shard, by: session.actor)
      let text = code.text.reveal()
      return try session.show(
        ["user": .string(user), "code": .string(text), "expires_at": .time(expiresAt)],
        """
        code for \(printable(user)), until \(Moment.short(expiresAt))
        \(text)
        \(QRCode(text)?.text ?? "")The code is shown this once, and counts once. Give it to nobody but the user.

        """)
    }
  }
}

/// A QR code, by libqrencode.
struct QRCode {
  /// The rows of its modules, with the light ones around that readers need; true is dark.
  let rows: [[Bool]]

  /// Of a text of digits, capital letters and dashes; nil where there is no memory.
  init?(_ text: String) {
    guard let code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1) else { return nil }
    defer { QRcode_free(code) }
    let (width, border) = (Int(code.pointee.width), 4)
    guard let data = code.pointee.data else { return nil }
    rows = (-border..<width + border).map { y in
      (-border..<width + border).map { x in
        (0..<width).contains(x) && (0..<width).contains(y) && data[y * width + x] & 1 == 1
      }
    }
  }

  /// As lines for a terminal, two rows of modules in each. Light ones are drawn, as terminals are dark; readers take the
  /// reverse too.
  var text: String {
    stride(from: 0, to: rows.count, by: 2).map { y in
      rows[y].indices.map { x in
        switch (rows[y][x], y + 1 < rows.count ? rows[y + 1][x] : true) {
        case (false, false): "█"
        case (false, true): "▀"
        case (true, false): "▄"
        case (true, true): " "
        }
      }.joined() + "\n"
    }.joined()
  }
}
