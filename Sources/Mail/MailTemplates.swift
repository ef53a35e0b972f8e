import Glibc

/// All templates of a server in all their languages: its own words, and an operator's over them.
public struct MailTemplates: Sendable {
    private var words: [MailTemplate: [String: TemplateWords]] = [:]

    /// The server's own, in English and Spanish.
    public init() throws(MailFault) {
        for (language, texts) in MailTexts.all {
            for (template, text) in texts {
                words[template, default: [:]][language] = try TemplateWords(template, language: language, text: text)
            }
        }
    }

    /// The server's own, and over them what a folder holds: `verifyEmail.es.txt` with `Subject: …` as its first line,
    /// and `verifyEmail.es.html` beside it where the page is not to be made of the text. Reads files, so it blocks: for
    /// the start.
    ///
    /// - Throws: `MailFault` that names the file and what is wrong with it.
    public init(folder: String) throws(MailFault) {
        try self.init()
        let files = try Self.files(folder)
        for (name, content) in files where name.hasSuffix(".txt") {
            let (template, language) = try Self.meaning(name, in: folder)
            do throws(MailFault) {
                words[template, default: [:]][language] = try TemplateWords(
                    template, language: language, text: content, html: files[name.dropLast(4) + ".html"])
            } catch { throw MailFault("\(folder)/\(name) \(error)") }
        }
        for name in files.keys where name.hasSuffix(".html") && files[name.dropLast(5) + ".txt"] == nil {
            _ = try Self.meaning(name, in: folder)
            throw MailFault("\(folder)/\(name) needs \(name.dropLast(5)).txt beside it, for those who read plain text")
        }
    }

    private static func meaning(_ file: String, in folder: String) throws(MailFault) -> (MailTemplate, String) {
        let parts = file.split(separator: ".")
        guard parts.count == 3, let template = MailTemplate(rawValue: String(parts[0])),
            parts[1].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        else {
            let names = MailTemplate.allCases.map(\.rawValue).joined(separator: ", ")
            throw MailFault("\(folder)/\(file) is not named TEMPLATE.LANGUAGE.txt or .html; templates are: \(names)")
        }
        return (template, parts[1].lowercased())
    }

    /// What the text and HTML files of a folder hold, by their names.
    private static func files(_ folder: String) throws(MailFault) -> [String: String] {
        guard let listing = opendir(folder) else {
            throw MailFault("\(folder) can't be read: \(String(cString: strerror(errno)))")
        }
        defer { closedir(listing) }
        var found: [String: String] = [:]
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix("."), name.hasSuffix(".txt") || name.hasSuffix(".html") else { continue }
            found[name] = try read("\(folder)/\(name)")
        }
        return found
    }

    private static func read(_ path: String) throws(MailFault) -> String {
        guard let file = fopen(path, "re") else {
            throw MailFault("\(path) can't be read: \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var content = [UInt8](repeating: 0, count: (1 << 20) + 1)
        let count = fread(&content, 1, content.count, file)
        guard ferror(file) == 0 else { throw MailFault("\(path) can't be read") }
        guard count < content.count else { throw MailFault("\(path) is larger than 1 MB") }
        guard let text = String(validating: content[..<count], as: UTF8.self) else {
            throw MailFault("\(path) is not UTF-8")
        }
        return text
    }

    /// The languages of an `Accept-Language`, the dearest first. What cannot be understood is left out.
    static func preferred(_ header: String) -> [String] {
        let ranges = header.prefix(1000).lowercased().split(separator: ",").enumerated().compactMap { place, range in
            let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            return parts.first.map { (name: $0, weight: weight, place: place) }
        }
        return ranges.filter { $0.weight > 0 && $0.name != "*" }
            .sorted { ($0.weight, $1.place) > ($1.weight, $0.place) }.map(\.name)
    }

    private static func closest<Words>(to language: String, in all: [String: Words]) -> Words? {
        all[language] ?? all[String(language.prefix { $0 != "-" && $0 != "_" })]
    }

    /// All languages in which there are words, such as `es`.
    public var languages: Set<String> { Set(words.values.flatMap(\.keys)) }
    /// Whether there are any in a language such as `es` or `es-ES`.
    public func know(_ language: String) -> Bool {
        words.values.contains { Self.closest(to: language.lowercased(), in: $0) != nil }
    }

    /// The words for a reader: in the first of these languages that there are any in, or in English. `es-ES` is served
    /// by `es` where there is nothing closer.
    func words(_ template: MailTemplate, in languages: [String?]) -> TemplateWords? {
        let all = words[template] ?? [:]
        for language in languages.flatMap({ Self.preferred($0 ?? "") }) {
            if let found = Self.closest(to: language, in: all) { return found }
        }
        return all["en"]
    }

    /// A mail's words.
    ///
    /// - Parameter languages: as `words` takes them.
    func filled(
        _ template: MailTemplate, _ values: [String: String], to address: MailAddress, languages: [String?],
        appName: String
    ) throws(MailFault) -> (subject: String, text: String, html: String) {
        guard let words = words(template, in: languages) else {
            throw MailFault("There are no words for \(template.rawValue).")
        }
        var values = values
        values["name"] = values["name"].map(MailLink.name)
        values["appName"] = HeaderText.oneLine(appName)
        values["email"] = address.text
        return words.filled(values)
    }

    /// A mail with made-up values, as a reader of the first of these languages would get it.
    public func preview(
        _ template: MailTemplate, languages: [String?], appName: String
    ) throws(MailFault) -> (subject: String, text: String, html: String) {
        guard let address = MailAddress("ana@example.com") else { throw MailFault("There is no address.") }
        let values = ["link": "https://example.com/\(template.rawValue)?token=8sK2vQx1", "name": "Ana"]
        return try filled(template, values, to: address, languages: languages, appName: appName)
    }
}
