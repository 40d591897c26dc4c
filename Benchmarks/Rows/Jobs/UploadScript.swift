import Foundation

/// What `wrk` needs to post the same uploads as the worker: a script, and each body in a file.
///
/// Its fields and headers are those of the worker. What differs costs the endpoint nothing: all uploads have the
/// same boundary, and those of one picture the same `Idempotency-Key`.
enum UploadScript {
  /// Writes the script and the bodies of these images (JPEG bytes) into a folder; gives the script's path.
  ///
  /// The script's last line of output is `{"uploads":N,"seconds":S,"failed":F,"p50":…}`; what failed are answers other
  /// than 2xx and 3xx and errors of the sockets.
  ///
  /// - Parameter tokens: Of users, in turn; with them each request is a new one of an app.
  static func write(_ images: [[UInt8]], to folder: URL, tokens: [String] = []) throws -> String {
    for (number, image) in images.enumerated() {
      var body = Data(head.utf8)
      body.append(contentsOf: image)
      body.append(contentsOf: tail.utf8)
      try body.write(to: folder.appending(path: "upload-\(number)"))
    }
    let script = folder.appending(path: "upload.lua")
    try Data(text(images.count, folder.path, tokens).utf8).write(to: script)
    return script.path
  }

  private static let boundary = "form-0123456789abc-0123456789abc"
  private static let head = """
    --\(boundary)\r\nContent-Disposition: form-data; name="type"\r\n\r\nthroat\r\n--\(boundary)\r
    Content-Disposition: form-data; name="image"; filename="image.jpg"\r\nContent-Type: image/jpeg\r\n\r\n
    """
  private static let tail = "\r\n--\(boundary)--\r\n"

  /// Without tokens all requests are made beforehand, so that a request costs the script no more than an index.
  private static func text(_ count: Int, _ folder: String, _ tokens: [String]) -> String {
    """
    local bodies, requests, turn = {}, {}, 0
    local tokens = {\(tokens.map { "\"\($0)\"" }.joined(separator: ", "))}
    -- Of this thread and run alone: each has a table of its own.
    local thread = tostring(tokens):gsub("%W", "") .. os.time()
    function made(number, key, token)
      return wrk.format("POST", "/api/analyze", {
        ["Host"] = wrk.headers["Host"], ["Accept"] = "application/json", ["User-Agent"] = "analysis-queue",
        ["Content-Type"] = "multipart/form-data; boundary=\(boundary)", ["Idempotency-Key"] = key,
        ["Authorization"] = token and "Bearer " .. token,
      }, bodies[number])
    end
    function init(args)
      for number = 0, \(count - 1) do
        local file = assert(io.open("\(folder)/upload-" .. number, "rb"))
        bodies[number] = file:read("*a")
        file:close()
        if #tokens == 0 then requests[number] = made(number, "picture-" .. number) end
      end
    end
    function request()
      turn = turn + 1
      if #tokens == 0 then return requests[turn % \(count)] end
      -- Each user in turn, and in each round another photo of theirs: to each user they are new.
      local round = math.floor(turn / #tokens)
      return made((turn + round) % \(count), thread .. "-" .. turn, tokens[turn % #tokens + 1])
    end
    function done(summary, latency, all)
      local e = summary.errors
      io.write(string.format('{"uploads":%d,"seconds":%.6f,"failed":%d,"p50":%.3f,"p95":%.3f,"p99":%.3f}\\n',
        summary.requests, summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout,
        latency:percentile(50) / 1e3, latency:percentile(95) / 1e3, latency:percentile(99) / 1e3))
    end
    """
  }
}
