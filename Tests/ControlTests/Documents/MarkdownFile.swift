import Foundation
import TestSupport
import Testing

/// A Markdown file of the package, as far as the tests of the documents read it.
struct MarkdownFile: Sendable, CustomTestStringConvertible {
  /// A block between two fences.
  struct CodeBlock {
    let language: String
    let lines: [String]
  }

  /// A link to a file or a heading of the package.
  struct Link {
    let text: String
    let path: String
    let anchor: String?
  }

  /// Its path in the package, such as `docs/install.md`.
  let path: String
  let lineCount: Int
  let codeBlocks: [CodeBlock]
  /// The lines outside of the code blocks.
  let prose: [String]

  var testDescription: String { path }

  init(_ path: String) throws {
    self.path = path
    let lines = try String(contentsOfFile: packagePath(path), encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    lineCount = lines.last == "" ? lines.count - 1 : lines.count
    var (prose, blocks): ([String], [CodeBlock]) = ([], [])
    var open: (language: String, lines: [String])?
    for line in lines {
      if line.hasPrefix("```") {
        if let block = open {
          blocks.append(CodeBlock(language: block.language, lines: block.lines))
          open = nil
        } else {
          open = (String(line.dropFirst(3)), [])
        }
      } else if open != nil {
        open?.lines.append(line)
      } else {
        prose.append(line)
      }
    }
    codeBlocks = blocks
    self.prose = prose
  }

  /// All of them, by path.
  static let all: [MarkdownFile] = {
    let root = packagePath("")
    let enumerator = FileManager.default.enumerator(atPath: root)
    var found: [String] = []
    while let path = enumerator?.nextObject() as? String {
      if path.hasPrefix(".") {
        enumerator?.skipDescendants()
      } else if path.hasSuffix(".md") {
        found.append(path)
      }
    }
    return found.sorted().compactMap { try? MarkdownFile($0) }
  }()

  /// The lines of its code blocks that show commands.
  var commandLines: [String] {
    codeBlocks.filter { ["", "sh"].contains($0.language) }.flatMap(\.lines)
  }

  static func named(_ path: String) -> MarkdownFile? { all.first { $0.path == path } }

  /// What stands between backquotes outside of the code blocks.
  var codeSpans: [String] {
    prose.joined(separator: "\n").components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map
    {
      $0.element.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
  }

  /// The links that lead into the package.
  var links: [Link] {
    prose.joined(separator: "\n").matches(of: #/\[([^\]]*)\]\(([^) \n]+)\)/#).compactMap { match in
      let target = String(match.output.2)
      guard !target.contains("://") else { return nil }
      let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      return Link(
        text: String(match.output.1), path: String(parts[0]), anchor: parts.count > 1 ? String(parts[1]) : nil
      )
    }
  }

  /// The anchors of its headings, as GitHub makes them.
  var anchors: Set<String> {
    var found: Set<String> = []
    for line in prose {
      guard let heading = line.wholeMatch(of: /#+ +(.*)/)?.output.1 else { continue }
      let kept = heading.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
      let anchor = kept.replacing(" ", with: "-")
      var (name, copy) = (anchor, 0)
      while !found.insert(name).inserted {
        copy += 1
        name = "\(anchor)-\(copy)"
      }
    }
    return found
  }

  /// The path in the package of what a link of this file leads to.
  func target(of link: Link) -> String {
    guard !link.path.isEmpty else { return path }
    let folder = (path as NSString).deletingLastPathComponent
    return ((folder as NSString).appendingPathComponent(link.path) as NSString).standardizingPath
  }
}
