import Markup

/// The pages by which a reader comes in and goes out.
enum LogInPage {
  static let page = Page(
    title: "Log in",
    content: """
      <form method="post" action="/log-in" class="confirm">
      <p><label for="token">Token of this dashboard</label>
      <input id="token" name="token" type="password" required autocomplete="current-password"></p>
      <p class="buttons"><button>Log in</button></p>
      </form>
      """)

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
