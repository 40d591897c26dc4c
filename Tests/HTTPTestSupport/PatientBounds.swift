public import HTTPServing
import TestSupport

extension HTTPServer.Bounds {
  /// The usual ones, of a server on a busy machine: a page that takes its time there is answered.
  public static var patient: HTTPServer.Bounds {
    var bounds = HTTPServer.Bounds()
    bounds.answer = patience
    return bounds
  }
}
