import Foundation

/// What `wrk` needs to post the same uploads as the worker: a script, and each body in a file.
///
/// Its fields and headers are those of the worker. What differs costs the endpoint nothing: all uploads have the
/// same boundary, and those of one picture the same `Idempotency-Key`.
enum UploadScript {
  /// Writes the script and the bodies of these images (JPEG bytes) into a folder; gives the script's path.
  ///
  /// The script's last line of output is `{"uploads":N,"seconds":S,"failed":F}`; what failed are answers other
  /// than 2xx and 3xx and errors of the sockets.
  static func write(_ images: [[UInt8]], to folder: URL) throws -> String {
    for (number, image) in images.enumerated() {
      var body = Data(head.utf8)
      body.append(contentsOf: image)
      body.append(contentsOf: tail.utf8)
      try body.write(to: folder.appending(path: "upload-\(number)"))
    }
    let script = folder.appending(path: "upload.lua")
    try Data(text(images.count, folder.path).utf8).write(to: script)
    return script.path
  }

  private static let boundary = "form-0123456789abc-0123456789abc"
  private static let head = """
    --\(boundary)\r\nContent-Disposition: form-data; name="type"\r\n\r\nthroat\r\n--\(boundary)\r
    Content-Disposition: form-data; name="image"; filename="image.jpg"\r\nContent-Type: image/jpeg\r\n\r\n
    """
  private static let tail = "\r\n--\(boundary)--\r\n"

  /// All requests are made beforehand, so that a request costs the script no more than an index.
  private static func text(_ count: Int, _ folder: String) -> String {
    """
    local requests, turn = {}, 0
    function init(args)
      for number = 0, \(count - 1) do
        local file = assert(io.open("\(folder)/upload-" .. number, "rb"))
        requests[number] = wrk.format("POST", "/api/analyze", {
          ["Host"] = wrk.headers["Host"], ["Accept"] = "application/json", ["User-Agent"] = "analysis-queue",
          ["Content-Type"] = "multipart/form-data; boundary=\(boundary)", ["Idempotency-Key"] = "picture-" .. number,
        }, file:read("*a"))
        file:close()
      end
    end
    function request()
      turn = (turn + 1) % \(count)
      return requests[turn]
    end
    function done(summary, latency, all)
      local e = summary.errors
      io.write(string.format('{"uploads":%d,"seconds":%.6f,"failed":%d}\\n', summary.requests,
        summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout))
    end
    """
  }
}
