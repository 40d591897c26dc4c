import Support

/// The pages by which a reader comes in and goes out.
enum LogInPage {
  /// The form that takes the token.
  ///
  /// - Parameter failure: Why the one that was entered before was not taken.
  static func page(after failure: PageFailure? = nil) -> Page {
    Page(
      title: failure?.title ?? "Log in",
      content: """
        \(failure?.notice)
        <form method="post" action="/log-in" class="confirm">
        <p><label for="token">Token of this dashboard</label>
        <input id="token" name="token" type="password" required autocomplete="current-password"></p>
        <p class="buttons"><button>Log in</button></p>
        </form>
        """, status: failure?.status ?? 200)
  }

  static func logOut(_ token: String) -> Page {
    Page(
      title: "Log out",
      content: """
        <form method="post" action="/log-out" class="confirm">
        <input type="hidden" name="token" value="\(token)">
        <p class="buttons"><button>Log out</button> <a href="/">Stay</a></p>
        </form>
        """)
  }
}
