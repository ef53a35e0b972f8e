import Glibc
import Options
import Wire

/// An operator's own pages and their words, read at the start: `pages.pagesPath`, `pages.localizationJsonPath`,
/// `pages.placeholders`.
struct OwnPages: Sendable {
    /// By the folder that they lie in (`es`, `es-mx`; empty for the path itself), then by their files' names.
    private var files: [String: [String: String]] = [:]
    /// By locale.
    private var words: [String: [String: String]] = [:]
    private var placeholders: [String: String] = [:]
    private let isLocalized: Bool
    private let fallback: String

    /// - Throws: `OptionFault` for what cannot be read, or is no page.
    init(_ options: ServerOptions.Pages) throws(OptionFault) {
        isLocalized = options.enableLocalization
        fallback = options.localizationFallbackLocale.lowercased()
        placeholders = try OwnPages.texts(options.placeholders, "pages.placeholders")
        if let folder = options.pagesPath { try read(folder) }
        if let path = options.localizationJsonPath { try readWords(path) }
    }

    private mutating func read(_ folder: String) throws(OptionFault) {
        for (name, isFolder) in try OwnPages.entries(folder) {
            if isFolder {
                for (file, _) in try OwnPages.entries("\(folder)/\(name)") where Page.byFile[file] != nil {
                    files[name.lowercased(), default: [:]][file] = try TextFile.read("\(folder)/\(name)/\(file)")
                }
            } else if Page.byFile[name] != nil {
                files["", default: [:]][name] = try TextFile.read("\(folder)/\(name)")
            }
        }
        guard !files.isEmpty else {
            let names = Page.allCases.map(\.file).joined(separator: ", ")
            throw OptionFault("the option \"pages.pagesPath\": \(folder) holds none of \(names)")
        }
    }

    private static func entries(_ folder: String) throws(OptionFault) -> [(name: String, isFolder: Bool)] {
        guard let listing = opendir(folder) else {
            let reason = String(cString: strerror(errno))
            throw OptionFault("the option \"pages.pagesPath\": \(folder) can't be read: \(reason)")
        }
        defer { closedir(listing) }
        var found: [(name: String, isFolder: Bool)] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var information = stat()
            guard !name.hasPrefix("."), stat("\(folder)/\(name)", &information) == 0 else { continue }
            found.append((name, information.st_mode & S_IFMT == S_IFDIR))
        }
        return found
    }

    /// `{"es": {"translation": {"titulo": "…"}}}`, as i18next has it.
    private mutating func readWords(_ path: String) throws(OptionFault) {
        let text = try TextFile.read(path)
        guard case .object(let locales)? = try? JSONParser.parse(text) else {
            throw OptionFault("the option \"pages.localizationJsonPath\": \(path) holds no JSON object")
        }
        for (locale, given) in locales.members {
            words[locale.lowercased()] = try OwnPages.texts(
                given.object?["translation"] ?? .null, "pages.localizationJsonPath")
        }
    }

    private static func texts(_ json: JSON, _ option: String) throws(OptionFault) -> [String: String] {
        guard case .object(let object) = json else {
            throw OptionFault("the option \"\(option)\" must hold texts by name")
        }
        var texts: [String: String] = [:]
        for (name, value) in object.members {
            guard let text = value.string ?? value.number.map({ _ in value.description }) else {
                throw OptionFault("the option \"\(option)\": \(name) must be a text")
            }
            texts[name] = text
        }
        return texts
    }

    /// A page with its placeholders filled; nil where the operator has none of his own.
    ///
    /// - Parameters:
    ///   - locale: that the reader asks for, `es-MX`; nil: none.
    ///   - values: of this one page, which go before all others.
    func html(_ page: Page, locale: String?, values: [(String, String)]) -> String? {
        let locales = isLocalized ? candidates(locale) : []
        guard let source = (locales + [""]).lazy.compactMap({ self.files[$0]?[page.file] }).first else { return nil }
        var all = placeholders
        if let words = locales.lazy.compactMap({ self.words[$0] }).first { all.merge(words) { $1 } }
        all.merge(values) { $1 }
        return OwnPages.filled(source, all)
    }

    /// `es-mx`, `es`, and those that stand in for what is not there.
    private func candidates(_ locale: String?) -> [String] {
        [locale?.lowercased(), fallback].compactMap { $0 }.flatMap { locale in
            [locale, String(locale.prefix { $0 != "-" })]
        }
    }

    /// `{{name}}`, `{{{name}}}`: values are always escaped, since some of them users choose. What has no value is empty.
    private static func filled(_ source: String, _ values: [String: String]) -> String {
        var (out, rest) = ("", source[...])
        while let open = rest.firstRange(of: "{{") {
            out += rest[..<open.lowerBound]
            guard let close = rest[open.upperBound...].firstRange(of: "}}") else {
                return out + rest[open.lowerBound...]
            }
            let name = rest[open.upperBound..<close.lowerBound].drop { $0 == "{" || $0 == "&" }
            out += (values[name.split(separator: " ").joined()] ?? "").htmlEscaped
            rest = rest[close.upperBound...]
            if source[open.upperBound...].hasPrefix("{"), rest.hasPrefix("}") { rest = rest.dropFirst() }
        }
        return out + rest
    }
}
