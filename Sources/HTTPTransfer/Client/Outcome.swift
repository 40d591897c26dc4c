internal import Ccurl
internal import Glibc

/// Makes an answer or an error of a finished transfer, from libcurl's result and what the callbacks saw.
struct Outcome {
  private let handle: EasyHandle
  private let transfer: Transfer
  private let result: CURLcode

  init(_ handle: EasyHandle, _ transfer: Transfer, _ result: CURLcode) {
    self.handle = handle
    self.transfer = transfer
    self.result = result
  }

  var ending: Transfer.Ending {
    guard result == CURLE_OK else { return .failure(error) }
    if transfer.head.isEncoded, !transfer.received.isEmpty { return .failure(refused(.answerEncoded)) }
    guard let head = transfer.head.result else {
      return .failure(failure(.protocolViolation, "\(transfer.host) answered without a header."))
    }
    return .success(
      Response(
        head: head, body: transfer.received, timing: timing,
        sentBytes: handle.number(CURLINFO_REQUEST_SIZE) + handle.offset(CURLINFO_SIZE_UPLOAD_T),
        connectionReused: handle.number(CURLINFO_NUM_CONNECTS) == 0,
        certificateEnd: handle.certificateEnd, localPort: transfer.localPort))
  }

  private var timing: Timing {
    func step(_ info: CURLINFO) -> Duration { .microseconds(handle.offset(info)) }
    return Timing(
      nameLookup: step(CURLINFO_NAMELOOKUP_TIME_T), connected: step(CURLINFO_CONNECT_TIME_T),
      secured: step(CURLINFO_APPCONNECT_TIME_T), firstByte: step(CURLINFO_STARTTRANSFER_TIME_T),
      total: step(CURLINFO_TOTAL_TIME_T))
  }

  // MARK: Errors

  /// The caller's task was cancelled.
  var cancelled: TransferError {
    failure(.cancelled, "The request to \(transfer.host) was cancelled while \(phase.rawValue).")
  }

  /// The event loop would not watch the connection.
  var notWatched: TransferError {
    failure(.outOfDescriptors, "The event loop could not watch the connection to \(transfer.host).")
  }

  private var error: TransferError {
    if let refusal = transfer.refusal { return refused(refusal) }
    if transfer.head.isEncoded || result == CURLE_BAD_CONTENT_ENCODING { return refused(.answerEncoded) }
    switch result {
    case CURLE_URL_MALFORMAT: return failure(.invalidRequest, "libcurl cannot read the address.")
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      return failure(.nameNotResolved, "The name of \(transfer.host) could not be resolved.")
    case CURLE_COULDNT_CONNECT: return connectFailure
    case CURLE_PEER_FAILED_VERIFICATION:
      return failure(
        .certificateRefused, "The certificate of \(transfer.host) was refused\(detail).\(clockAdvice)")
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return failure(
        .certificateRefused,
        "\(transfer.host) has none of the public keys that are pinned. If its key was changed, pin the new one"
          + " (--endpoint-pin).")
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_INITFAILED:
      return failure(.tlsFailed, "TLS with \(transfer.host) failed\(detail).")
    case CURLE_OPERATION_TIMEDOUT:
      return failure(.timedOut, "The request to \(transfer.host) took too long, while \(phase.rawValue).")
    case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND:
      return connectionFailure(.sendFailed, "Sending to \(transfer.host) failed\(detail).")
    case CURLE_GOT_NOTHING:
      return failure(.connectionReset, "\(transfer.host) closed the connection without an answer.")
    case CURLE_RECV_ERROR:
      return connectionFailure(.receiveFailed, "Receiving from \(transfer.host) failed\(detail).")
    case CURLE_PARTIAL_FILE:
      return failure(.answerTruncated, "The answer of \(transfer.host) ended too early\(detail).")
    case CURLE_UNSUPPORTED_PROTOCOL where !transfer.startedSending:
      return failure(.refusedByPolicy, "The scheme of the address is not spoken.")
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return failure(.protocolViolation, "\(transfer.host) does not answer as HTTP asks\(detail).")
    case CURLE_OUT_OF_MEMORY: return memoryFailure
    default: return failure(.internalFailure, "libcurl ended the request to \(transfer.host)\(detail).")
    }
  }

  /// libcurl hides a failed `socket` behind "could not connect": a try of our own tells.
  private var connectFailure: TransferError {
    if Self.isOutOfDescriptors { return outOfDescriptors }
    return handle.number(CURLINFO_OS_ERRNO) == Int(ECONNREFUSED)
      ? failure(.connectionRefused, "\(transfer.host) refused the connection: nothing listens there.")
      : failure(.connectFailed, "\(transfer.host) could not be reached\(detail).")
  }

  /// libcurl 7.88 says "out of memory" of a header line above its own limit of 100 kB.
  private var memoryFailure: TransferError {
    if Self.isOutOfDescriptors { return outOfDescriptors }
    return transfer.startedSending && transfer.bodyIsRead
      ? refused(.headersTooLarge) : failure(.outOfMemory, "libcurl is out of memory.")
  }

  private var outOfDescriptors: TransferError {
    failure(
      .outOfDescriptors,
      "This process has too many open files to reach \(transfer.host); raise its limit (LimitNOFILE).")
  }

  private func connectionFailure(_ code: TransferError.Code, _ message: String) -> TransferError {
    switch Int32(clamping: handle.number(CURLINFO_OS_ERRNO)) {
    case ECONNRESET, EPIPE, ECONNABORTED: failure(.connectionReset, message)
    default: failure(code, message)
    }
  }

  private func refused(_ refusal: Transfer.Refusal) -> TransferError {
    let host = transfer.host
    switch refusal {
    case .answerTooLarge: return failure(.answerTooLarge, "The answer of \(host) is longer than the limit.")
    case .headersTooLarge:
      return failure(.headersTooLarge, "The header of the answer of \(host) is longer than the limit.")
    case .answerEncoded:
      return failure(.answerEncoded, "\(host) sent a compressed answer, which was not asked for.")
    case .answeredEarly:
      return failure(.protocolViolation, "\(host) answered with success before it had the whole request.")
    case .unaskedBytes:
      return failure(
        .connectionReset, "\(host) sent an answer that nobody had asked for; its connection was closed.")
    case .otherAddress:
      return failure(
        .addressRefused, "The connection to \(host) led to an address that the request may not go to.")
    case .repeatedSending:
      return failure(
        .connectionReset, "\(host) closed a kept-alive connection while the request was being sent on it.")
    }
  }

  private func failure(_ code: TransferError.Code, _ message: String) -> TransferError {
    TransferError(
      code, phase: phase, certainlyNotSent: !transfer.startedSending, message: message,
      answer: transfer.head.result)
  }

  private var phase: TransferError.Phase {
    if !transfer.startedSending { return .connecting }
    if transfer.head.byteCount > 0 { return .receiving }
    let isSent = transfer.bodyIsRead && handle.offset(CURLINFO_SIZE_UPLOAD_T) >= transfer.bodyCount
    return isSent ? .waiting : .sending
  }

  /// libcurl's own message, which names hosts and TLS reasons but nothing of the request.
  private var detail: String {
    let detail = handle.errorDetail
    return detail.isEmpty ? "" : " (\(detail))"
  }

  /// A certificate's dates are judged by this machine's clock, which is the likelier fault of the two.
  private var clockAdvice: String {
    let detail = handle.errorDetail
    let isAboutTime = detail.contains("has expired") || detail.contains("not yet valid")
    return isAboutTime ? " If its dates are right, this machine's clock is wrong." : ""
  }

  private static var isOutOfDescriptors: Bool {
    let probe = dup(STDERR_FILENO)
    guard probe < 0 else {
      Glibc.close(probe)
      return false
    }
    return errno == EMFILE || errno == ENFILE
  }
}

/// Reads an answer's header line by line, as libcurl delivers it: interim answers first, then the final
/// one, then trailers.
struct HeadParser {
  private(set) var byteCount = 0
  /// Whether the final answer's header has ended.
  private(set) var isComplete = false
  private var status = 0
  private var version = HTTPVersion.http1
  private var headers = Headers()

  /// Status and fields, once they are whole.
  var result: ResponseHead? {
    isComplete ? ResponseHead(status: status, headers: headers, version: version) : nil
  }

  /// Whether the body is compressed, as a whole or on its way.
  var isEncoded: Bool {
    (headers.all("Content-Encoding") + headers.all("Transfer-Encoding")).contains { field in
      field.split(separator: ",").contains { coding in
        let name = coding.filter { $0 != " " && $0 != "\t" }.lowercased()
        return !["", "identity", "chunked"].contains(name)
      }
    }
  }

  mutating func take(_ line: UnsafeRawBufferPointer) {
    byteCount += line.count
    guard !isComplete else { return }  // a trailer
    var bytes = line[...]
    while let last = bytes.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
      bytes.removeLast()
    }
    if bytes.isEmpty {
      isComplete = status >= 200
    } else if bytes.starts(with: Self.statusLine) {
      begin(String(decoding: bytes, as: UTF8.self))
    } else if Self.isBlank(bytes[bytes.startIndex]) {
      headers.continueLast(with: Self.trimmed(bytes))
    } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
      headers.add(Self.trimmed(bytes[..<colon]), Self.trimmed(bytes[(colon + 1)...]))
    }
  }

  private mutating func begin(_ line: String) {
    let parts = line.split(separator: " ", maxSplits: 2)
    status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    version = line.hasPrefix("HTTP/2") ? .http2 : .http1
    headers = Headers()
  }

  private static let statusLine = Array("HTTP/".utf8)

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    var bytes = bytes
    while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
