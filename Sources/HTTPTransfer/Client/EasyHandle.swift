internal import Ccurl
internal import Support

/// One of libcurl's easy handles, kept from request to request with what never changes set once.
///
/// The handle's callbacks get this object. libcurl's reference to it is taken when the handle is made and
/// given back after the handle is destroyed, so that no callback can meet a freed object.
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  /// The transfer that the handle works for; set while the handle is in the multi handle.
  var transfer: Transfer?
  /// The multi handle that it was put to work by.
  weak var multi: MultiHandle?
  private let errorText: UnsafeMutablePointer<CChar>
  private var headerList: UnsafeMutablePointer<curl_slist>?
  private var resolutionList: UnsafeMutablePointer<curl_slist>?

  /// Makes a handle; nil when libcurl is out of memory or lacks an option.
  static func make(_ configuration: Configuration) -> EasyHandle? {
    guard let pointer = curl_easy_init() else { return nil }
    let handle = EasyHandle(pointer)
    guard handle.setConstants(configuration) else {
      handle.destroy()
      return nil
    }
    return handle
  }

  private init(_ pointer: UnsafeMutableRawPointer) {
    self.pointer = pointer
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    errorText.deallocate()
  }

  /// Destroys libcurl's handle, which must be out of the multi handle. Nothing may be called after it.
  func destroy() {
    transfer = nil
    curl_easy_cleanup(pointer)
    curl_slist_free_all(headerList)
    curl_slist_free_all(resolutionList)
    headerList = nil
    resolutionList = nil
    if isRetainedByCurl {
      isRetainedByCurl = false
      Unmanaged.passUnretained(self).release()
    }
  }

  private var isRetainedByCurl = false

  /// What libcurl says of the failure, or nothing.
  var errorDetail: String { String(cString: errorText) }

  /// The object that a callback was given.
  static func from(_ context: UnsafeMutableRawPointer) -> EasyHandle {
    Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
  }

  // MARK: Options

  @discardableResult
  func set(_ option: CURLoption, _ value: Int) -> Bool {
    curl_setopt_long(pointer, option, value) == CURLE_OK
  }

  @discardableResult
  func set(_ option: CURLoption, _ value: String?) -> Bool {
    curl_setopt_string(pointer, option, value) == CURLE_OK
  }

  /// Replaces the request's own header lines; false when out of memory.
  func setHeaderLines(_ lines: [String]) -> Bool {
    curl_setopt_list(pointer, CURLOPT_HTTPHEADER, nil)
    curl_slist_free_all(headerList)
    headerList = nil
    for line in lines {
      guard let longer = curl_slist_append(headerList, line) else { return false }
      headerList = longer
    }
    return curl_setopt_list(pointer, CURLOPT_HTTPHEADER, headerList) == CURLE_OK
  }

  /// Says where the request's host is, instead of looking its name up; false when out of memory.
  func setResolution(_ entry: String?) -> Bool {
    curl_setopt_list(pointer, CURLOPT_RESOLVE, nil)
    curl_slist_free_all(resolutionList)
    resolutionList = nil
    guard let entry else { return true }
    guard let list = curl_slist_append(nil, entry) else { return false }
    resolutionList = list
    return curl_setopt_list(pointer, CURLOPT_RESOLVE, list) == CURLE_OK
  }

  /// Has libcurl sign the request, or not any more; false when it cannot.
  func setSignature(_ signature: (region: String, accessKey: String, secretKey: Secret)?) -> Bool {
    guard signature != nil || isSigning else { return true }
    isSigning = signature != nil
    let isSet =
      set(CURLOPT_AWS_SIGV4, signature.map { "aws:amz:\($0.region):s3" })
      && set(CURLOPT_USERNAME, signature?.accessKey) && set(CURLOPT_PASSWORD, signature?.secretKey.reveal())
    return isSet && (isSigning || set(CURLOPT_HTTPAUTH, 1))  // CURLAUTH_BASIC, as it was
  }

  private var isSigning = false

  func clearError() {
    errorText.pointee = 0
  }

  /// TLS 1.2 with a key of its own for each connection and authenticated encryption, as OpenSSL writes it. Whoever gets
  /// the server's key later can so not read what was recorded before. TLS 1.3 has nothing else.
  private static let cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"

  private func setConstants(_ configuration: Configuration) -> Bool {
    setCallbacks()
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_QUICK_EXIT, 1)  // ending a transfer does not wait for the thread that resolves its name
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    // Each call in flight holds one: four times as much saved a twentieth of the work and took 10 MB more at 64 calls.
    set(CURLOPT_UPLOAD_BUFFERSIZE, 64 << 10)
    // Everything that decides whom we talk to must be accepted: a libcurl that lacks it is not used.
    guard set(CURLOPT_SSL_VERIFYPEER, 1), set(CURLOPT_SSL_VERIFYHOST, 2),
      set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
      set(CURLOPT_SSL_CIPHER_LIST, Self.cipherSuites),
      set(
        CURLOPT_HTTP_VERSION,
        configuration.newestVersion == .http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1),
      set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)),
      set(CURLOPT_USERAGENT, configuration.userAgent)
    else { return false }
    if configuration.readsCertificates { set(CURLOPT_CERTINFO, 1) }
    if let file = configuration.certificateAuthorityFile {
      guard set(CURLOPT_CAINFO, file), set(CURLOPT_CAPATH, nil) else { return false }
    }
    if !configuration.pinnedKeys.isEmpty {
      let keys = configuration.pinnedKeys.joined(separator: ";")
      guard set(CURLOPT_PINNEDPUBLICKEY, keys) else { return false }
    }
    if let identity = configuration.clientIdentity, !setIdentity(identity) { return false }
    switch configuration.proxy {
    case .none: return set(CURLOPT_PROXY, "")
    case .environment: return true
    case .url(let url): return set(CURLOPT_PROXY, url) && set(CURLOPT_NOPROXY, "")
    }
  }

  private func setIdentity(_ identity: ClientIdentity) -> Bool {
    identity.pem.withUnsafeBytes { pem in
      [CURLOPT_SSLCERT_BLOB, CURLOPT_SSLKEY_BLOB].allSatisfy {
        curl_setopt_bytes(pointer, $0, pem.baseAddress, pem.count) == CURLE_OK
      }
    }
  }

  private func setCallbacks() {
    let context = Unmanaged.passRetained(self).toOpaque()
    isRetainedByCurl = true
    curl_setopt_pointer(pointer, CURLOPT_PRIVATE, context)
    curl_setopt_pointer(pointer, CURLOPT_ERRORBUFFER, errorText)
    for option in [
      CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_PREREQDATA,
    ] {
      curl_setopt_pointer(pointer, option, context)
    }
    curl_setopt_data_function(pointer, CURLOPT_READFUNCTION) { buffer, size, count, context in
      guard let buffer, let context, let transfer = EasyHandle.from(context).transfer else {
        return Int(CURL_READFUNC_ABORT)
      }
      return transfer.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
    }
    curl_setopt_seek_function(pointer) { context, offset, origin in
      guard let context, let transfer = EasyHandle.from(context).transfer else { return CURL_SEEKFUNC_FAIL }
      return transfer.seek(to: Int(offset), origin: origin) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
    }
    curl_setopt_data_function(pointer, CURLOPT_WRITEFUNCTION) { buffer, size, count, context in
      guard let context, let transfer = EasyHandle.from(context).transfer else { return 0 }
      return transfer.receive(UnsafeRawBufferPointer(start: buffer, count: size * count))
    }
    curl_setopt_data_function(pointer, CURLOPT_HEADERFUNCTION) { buffer, size, count, context in
      guard let context, let transfer = EasyHandle.from(context).transfer else { return 0 }
      let handle = EasyHandle.from(context)
      return transfer.receiveHeader(UnsafeRawBufferPointer(start: buffer, count: size * count)) {
        handle.multi?.isConfirmed(at: transfer.localPort) ?? true
      }
    }
    curl_setopt_prereq_function(pointer) { context, address, _, _, localPort in
      guard let context, let transfer = EasyHandle.from(context).transfer else {
        return CURL_PREREQFUNC_ABORT
      }
      let handle = EasyHandle.from(context)
      let mayStart = transfer.mayStartSending(
        to: address.map { String(cString: $0) } ?? "", localPort: Int(localPort),
        hasBytes: handle.multi?.hasUnaskedBytes(at: Int(localPort)) ?? false)
      return mayStart ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
  }

  // MARK: Facts

  func number(_ info: CURLINFO) -> Int {
    var value = 0
    return curl_getinfo_long(pointer, info, &value) == CURLE_OK ? value : 0
  }

  func offset(_ info: CURLINFO) -> Int {
    var value: curl_off_t = 0
    return curl_getinfo_offset(pointer, info, &value) == CURLE_OK ? Int(value) : 0
  }

  /// When the server's certificate ends, as the TLS library writes it.
  var certificateEnd: String? {
    let label = "Expire date:"
    var fact = curl_certificate_facts(pointer)
    while let found = fact {
      let text = found.pointee.data.map { String(cString: $0) } ?? ""
      if text.hasPrefix(label) { return String(text.dropFirst(label.count)) }
      fact = UnsafePointer(found.pointee.next)
    }
    return nil
  }
}
