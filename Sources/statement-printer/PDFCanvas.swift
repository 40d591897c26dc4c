import Cpango
import Glibc
import Support

/// A PDF that is written page by page: cairo makes its bytes, pango shapes its text, in whatever script it is.
///
/// Lengths are points, a 72nd of an inch, from the upper left corner. The same calls with the same fonts make the same
/// bytes. What goes wrong while it is drawn is said at the end.
struct PDFCanvas: ~Copyable {
  /// How a text looks.
  enum Style: Int, CaseIterable {
    /// The name of the document.
    case title
    /// The name of a part.
    case heading
    case body
    /// What stands out in running text.
    case strong
    case note
    /// A cell of a table.
    case cell
    /// The head of a table.
    case head

    /// Its height in points.
    var size: Double {
      switch self {
      case .title: 18
      case .heading: 11.5
      case .body, .strong: 9
      case .note, .cell, .head: 7.5
      }
    }

    fileprivate var isBold: Bool { self == .title || self == .heading || self == .strong || self == .head }
  }

  /// Where a text stands within its width.
  enum Alignment {
    case left, right, centre

    fileprivate var pango: PangoAlignment {
      switch self {
      case .left: PANGO_ALIGN_LEFT
      case .right: PANGO_ALIGN_RIGHT
      case .centre: PANGO_ALIGN_CENTER
      }
    }
  }

  private let surface: OpaquePointer
  private let cairo: OpaquePointer
  private let fonts: UnsafeMutablePointer<PangoFontMap>
  private let context: OpaquePointer
  private let layouts: [OpaquePointer]
  private let lineHeights: [Double]
  private let output: PDFOutput

  /// Starts a PDF. Throws where no font is installed.
  init(width: Double, height: Double) throws(PrintingError) {
    let output = PDFOutput()
    // The canvas holds the output for longer than cairo writes to it: it ends the surface first.
    let surface = cairo_pdf_surface_create_for_stream(
      { closure, data, length in
        guard let closure, let data else { return CAIRO_STATUS_WRITE_ERROR }
        Unmanaged<PDFOutput>.fromOpaque(closure).takeUnretainedValue().append(data, Int(length))
        return CAIRO_STATUS_SUCCESS
      }, Unmanaged.passUnretained(output).toOpaque(), width, height)
    guard let surface, let cairo = cairo_create(surface), let fonts = pango_cairo_font_map_new() else {
      fatalError("There is no memory for a page.")
    }
    self.output = output
    self.surface = surface
    self.cairo = cairo
    self.fonts = fonts
    // Points are points, and letters stand where they would on paper, whatever the machine's screen is like.
    pango_cairo_font_map_set_resolution(OpaquePointer(fonts), 72)
    let context = pango_font_map_create_context(fonts)
    let options = cairo_font_options_create()
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
    pango_cairo_context_set_font_options(context, options)
    cairo_font_options_destroy(options)
    guard let context else { fatalError("There is no memory for a page.") }
    self.context = context
    layouts = Style.allCases.compactMap { Self.layout($0, context) }
    lineHeights = layouts.map { Self.height(of: "Ag", in: $0) }
    guard layouts.allSatisfy(Self.hasLetters) else {
      throw PrintingError(
        "no font is installed, so that no PDF can be written",
        advice: "install one, such as Debian's package fonts-dejavu-core")
    }
  }

  deinit {
    for layout in layouts { g_object_unref(UnsafeMutableRawPointer(layout)) }
    g_object_unref(UnsafeMutableRawPointer(context))
    cairo_destroy(cairo)
    cairo_surface_finish(surface)
    cairo_surface_destroy(surface)
    g_object_unref(UnsafeMutableRawPointer(fonts))
  }

  /// Sets the title, what it is about, and when it was made, as `2026-11-04T00:00:00+07:00`.
  func describe(title: String, subject: String, created: String) {
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, title)
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_SUBJECT, subject)
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, created)
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_MOD_DATE, created)
  }

  /// The height of one line.
  func lineHeight(_ style: Style) -> Double { lineHeights[style.rawValue] }

  /// How high a text is that is broken into lines of a width.
  func height(_ text: String, _ style: Style, width: Double) -> Double {
    guard !Self.surelyFits(text, style, width: width) else { return lineHeight(style) }
    prepare(text, style, width: width, .left)
    var (wide, high): (Int32, Int32) = (0, 0)
    pango_layout_get_size(layouts[style.rawValue], &wide, &high)
    return Double(high) / Double(PANGO_SCALE)
  }

  /// Draws a text, broken into lines of a width.
  func draw(
    _ text: String, _ style: Style, x: Double, y: Double, width: Double, _ alignment: Alignment = .left,
    isQuiet: Bool = false, colour: Colour? = nil
  ) {
    guard !text.isEmpty else { return }
    prepare(text, style, width: width, alignment)
    let grey = isQuiet ? 0.35 : 0
    cairo_set_source_rgb(cairo, grey, grey, grey)
    if let colour {
      cairo_set_source_rgb(
        cairo, Double(colour.red) / 255, Double(colour.green) / 255, Double(colour.blue) / 255)
    }
    cairo_move_to(cairo, x, y)
    pango_cairo_show_layout(cairo, layouts[style.rawValue])
  }

  /// Draws a picture so wide. The JPEG goes into the PDF as it is: nothing is decoded, and of the surface that carries
  /// it only the size counts.
  func draw(_ logo: Bill.Logo, x: Double, y: Double, width: Double) {
    guard
      let picture = cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(logo.width), Int32(logo.height)),
      let copy = malloc(logo.bytes.count)
    else { fatalError("There is no memory for a picture.") }
    defer { cairo_surface_destroy(picture) }
    memcpy(copy, logo.bytes, logo.bytes.count)
    let bytes = copy.assumingMemoryBound(to: UInt8.self)
    cairo_surface_set_mime_data(picture, CAIRO_MIME_TYPE_JPEG, bytes, UInt(logo.bytes.count), free, copy)
    cairo_save(cairo)
    cairo_translate(cairo, x, y)
    cairo_scale(cairo, width / Double(logo.width), width / Double(logo.width))
    cairo_set_source_surface(cairo, picture, 0, 0)
    cairo_paint(cairo)
    cairo_restore(cairo)
  }

  /// Draws a horizontal line.
  func rule(x: Double, y: Double, width: Double, thickness: Double) {
    let grey = thickness < 0.5 ? 0.7 : 0.2
    cairo_set_source_rgb(cairo, grey, grey, grey)
    cairo_rectangle(cairo, x, y, width, thickness)
    cairo_fill(cairo)
  }

  /// Draws a rectangle with an outline, filled with a pattern that differs from others without colours.
  func box(_ fill: BarChart.Fill, x: Double, y: Double, width: Double, height: Double) {
    cairo_save(cairo)
    cairo_rectangle(cairo, x, y, width, height)
    cairo_clip(cairo)
    cairo_set_source_rgb(cairo, 0.3, 0.3, 0.3)
    switch fill {
    case .blank: break
    case .solid: cairo_paint(cairo)
    case .dots:
      for row in 0..<Int(height / 4 + 1) {
        for column in 0..<Int(width / 4 + 1) {
          cairo_new_sub_path(cairo)
          cairo_arc(cairo, x + 2 + Double(column) * 4, y + 2 + Double(row) * 4, 0.8, 0, 2 * .pi)
        }
      }
      cairo_fill(cairo)
    case .lines:
      cairo_set_line_width(cairo, 0.7)
      for row in 0..<Int(height / 4 + 1) {
        cairo_move_to(cairo, x, y + 2 + Double(row) * 4)
        cairo_line_to(cairo, x + width, y + 2 + Double(row) * 4)
      }
      cairo_stroke(cairo)
    case .stripes:
      cairo_set_line_width(cairo, 1.2)
      for step in 0..<Int((width + height) / 4 + 1) {
        cairo_move_to(cairo, x + Double(step) * 4, y)
        cairo_line_to(cairo, x + Double(step) * 4 - height, y + height)
      }
      cairo_stroke(cairo)
    }
    cairo_restore(cairo)
    cairo_set_source_rgb(cairo, 0.3, 0.3, 0.3)
    cairo_set_line_width(cairo, 0.5)
    cairo_rectangle(cairo, x, y, width, height)
    cairo_stroke(cairo)
  }

  /// Draws a number in the middle of a place, on white, so that it is read on any pattern; nothing where it is wider.
  func number(_ text: String, x: Double, y: Double, width: Double) {
    let needed = Double(text.utf8.count) * Style.note.size * 0.64 + 3
    guard needed <= width else { return }
    cairo_set_source_rgb(cairo, 1, 1, 1)
    cairo_rectangle(cairo, x + (width - needed) / 2, y, needed, lineHeight(.note))
    cairo_fill(cairo)
    draw(text, .note, x: x, y: y, width: width, .centre)
  }

  func endPage() { cairo_show_page(cairo) }

  /// Ends the document, and returns its bytes. Throws where anything could not be drawn: cairo keeps the first fault.
  consuming func finish() throws(PrintingError) -> [UInt8] {
    guard !output.lacksLetters else {
      throw PrintingError(
        "no font that is installed has all letters of the statement's names",
        advice: "install one that has them, such as Debian's package fonts-noto-core or fonts-noto-cjk")
    }
    cairo_surface_finish(surface)
    for status in [cairo_status(cairo), cairo_surface_status(surface)] where status != CAIRO_STATUS_SUCCESS {
      let text = cairo_status_to_string(status).map { String(cString: $0) } ?? "error \(status.rawValue)"
      throw PrintingError("the PDF could not be made: \(text)")
    }
    return output.bytes
  }

  private func prepare(_ text: String, _ style: Style, width: Double, _ alignment: Alignment) {
    let layout = layouts[style.rawValue]
    pango_layout_set_width(layout, Int32(width * Double(PANGO_SCALE)))
    pango_layout_set_alignment(layout, alignment.pango)
    Self.set(text, of: layout)
    // Boxes would be drawn in their place. The letters of ASCII were asked for at the start.
    if !text.utf8.allSatisfy({ $0 < 0x80 }), pango_layout_get_unknown_glyphs_count(layout) > 0 {
      output.lacksLetters = true
    }
  }

  /// Whether a text surely needs one line: plain ASCII letters are at most as wide as the font is high.
  private static func surelyFits(_ text: String, _ style: Style, width: Double) -> Bool {
    Double(text.utf8.count) * style.size * 1.02 <= width
      && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  private static func layout(_ style: Style, _ context: OpaquePointer) -> OpaquePointer? {
    let layout = pango_layout_new(context)
    let font = pango_font_description_new()
    pango_font_description_set_family(font, "DejaVu Sans")
    pango_font_description_set_absolute_size(font, style.size * Double(PANGO_SCALE))
    pango_font_description_set_weight(font, style.isBold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL)
    pango_layout_set_font_description(layout, font)
    pango_font_description_free(font)
    pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
    // A cell stays on its side where its text runs from right to left.
    pango_layout_set_auto_dir(layout, 0)
    return layout
  }

  private static func height(of text: String, in layout: OpaquePointer) -> Double {
    pango_layout_set_width(layout, -1)
    set(text, of: layout)
    var (wide, high): (Int32, Int32) = (0, 0)
    pango_layout_get_size(layout, &wide, &high)
    return Double(high) / Double(PANGO_SCALE)
  }

  private static func set(_ text: String, of layout: OpaquePointer) {
    var text = printable(text, keeping: "\n")
    text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        pango_layout_set_text(layout, characters.baseAddress, Int32(characters.count))
      }
    }
  }

  /// Whether there is a font with the plainest letters: without one, boxes would be drawn instead.
  private static func hasLetters(_ layout: OpaquePointer) -> Bool {
    set("Ag0", of: layout)
    return pango_layout_get_unknown_glyphs_count(layout) == 0
  }
}

/// What cairo has written.
private final class PDFOutput {
  private(set) var bytes: [UInt8] = []
  /// Whether a letter was to be drawn that no font has.
  var lacksLetters = false

  func append(_ data: UnsafePointer<UInt8>, _ count: Int) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
  }
}
