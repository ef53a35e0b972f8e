import Foundation
import Testing
import Wire

@testable import JavaScript

/// What of Parse's JavaScript library cloud code finds, as docs/cloud-javascript.md lists it.
@Suite struct ParseTableTests {
    /// What the library keeps on a device: there is nothing to keep on a server.
    private static let ofDevices = [
        "destroyEventually", "fetchFromLocalDatastore", "fromLocalDatastore", "fromPin", "fromPinWithName", "isPinned",
        "pin", "pinAll", "pinAllWithName", "pinWithName", "saveEventually", "unPin", "unPinAll", "unPinAllObjects",
        "unPinAllObjectsWithName", "unPinAllWithName", "unPinWithName",
    ]

    private static let script = """
        Parse.Cloud.define('tabla', () => {
          const shown = owner => Object.getOwnPropertyNames(owner).filter(name => !name.startsWith('_')
            && name !== 'constructor' && !(typeof owner === 'function' && ['length', 'name', 'prototype'].includes(name))).sort();
          const rows = {};
          for (const name of shown(Parse)) {
            const value = Parse[name];
            if (typeof value === 'function' && value.prototype && /^[A-Z]/.test(name)) {
              rows[name] = { statics: shown(value), members: shown(value.prototype) };
            } else if (value && typeof value === 'object') {
              rows[name] = { statics: shown(value), members: [] };
            } else rows[name] = { statics: [], members: [] };
          }
          return rows;
        });
        """

    private func table() async throws -> JSONObject {
        let answer = try await Script(Self.script).load().call("tabla").body
        return try #require(answer?.object)
    }

    private func names(_ row: JSON?, _ kind: String) -> [String] {
        row?.object?[kind]?.array?.compactMap(\.string) ?? []
    }

    /// With HERMES_WRITE_DOCS=1 the page's table is written anew.
    @Test func thePagesTableIsUpToDate() async throws {
        var lines = ["| `Parse.` | On it | On its objects |", "|---|---|---|"]
        for (name, row) in try await table().members {
            let cells = ["statics", "members"].map { names(row, $0).map { "`\($0)`" }.joined(separator: " ") }
            lines.append("| `\(name)` | \(cells[0]) | \(cells[1]) |")
        }
        let file = URL(filePath: #filePath).appending(path: "../../../docs/cloud-javascript.md").standardized
        let page = try String(contentsOf: file, encoding: .utf8)
        let parts = page.components(separatedBy: "<!-- table -->\n")
        try #require(parts.count == 3)
        let text = parts[0] + "<!-- table -->\n" + lines.joined(separator: "\n") + "\n<!-- table -->\n" + parts[2]
        if ProcessInfo.processInfo.environment["HERMES_WRITE_DOCS"] == "1" { try Data(text.utf8).write(to: file) }
        let written = try String(contentsOf: file, encoding: .utf8)
        #expect(written == text, "docs/cloud-javascript.md is out of date: run with HERMES_WRITE_DOCS=1")
    }

    /// The public names of the library's classes, version 8, less those above.
    @Test(arguments: [
        (
            "Object",
            "createWithoutData destroyAll disableSingleInstance enableSingleInstance extend fetchAll fetchAllIfNeeded fetchAllIfNeededWithInclude fetchAllWithInclude fromJSON registerSubclass saveAll unregisterSubclass",
            "add addAll addAllUnique addUnique clear clone decrement destroy dirty dirtyKeys equals escape existed exists fetch fetchWithInclude get getACL has increment isNew isValid newInstance op relation remove removeAll revert save set setACL toJSON toPointer unset validate"
        ),
        (
            "Query", "and fromJSON nor or",
            "addAscending addDescending aggregate ascending cancel comment containedBy containedIn contains containsAll containsAllStartingWith count descending distinct doesNotExist doesNotMatchKeyInQuery doesNotMatchQuery each eachBatch endsWith equalTo exclude exists explain filter find findAll first fromNetwork fullText get greaterThan greaterThanOrEqualTo hint include includeAll lessThan lessThanOrEqualTo limit map matches matchesKeyInQuery matchesQuery near notContainedIn notEqualTo polygonContains readPreference reduce select skip sortByTextScore startsWith subscribe toJSON withCount withJSON withinGeoBox withinKilometers withinMiles withinPolygon withinRadians"
        ),
        (
            "User",
            "become current logIn logInWith logOut me requestEmailVerification requestPasswordReset signUp verifyPassword",
            "authenticated getEmail getSessionToken getUsername isCurrent linkWith logIn setEmail setPassword setUsername signUp"
        ),
        (
            "ACL", "",
            "equals getPublicReadAccess getPublicWriteAccess getReadAccess getRoleReadAccess getRoleWriteAccess getWriteAccess setPublicReadAccess setPublicWriteAccess setReadAccess setRoleReadAccess setRoleWriteAccess setWriteAccess toJSON"
        ),
        ("Relation", "", "add query remove toJSON"), ("Role", "", "getName getRoles getUsers setName"),
        (
            "File", "fromJSON",
            "addMetadata addTag cancel destroy equals getData metadata name save setMetadata setTags tags toJSON url"
        ),
        ("Config", "current get save", "escape get"),
        ("GeoPoint", "current", "equals kilometersTo milesTo radiansTo toJSON"),
        ("Polygon", "", "containsPoint equals toJSON"),
        (
            "Schema", "all",
            "addArray addBoolean addBytes addDate addField addFile addGeoPoint addIndex addNumber addObject addPointer addPolygon addRelation addString delete deleteField deleteIndex get purge save setCLP update"
        ),
    ])
    func whatTheLibraryHasIsThere(className: String, statics: String, members: String) async throws {
        let rows = try await table()
        let parent = ["User", "Role"].contains(className) ? rows["Object"] : nil
        for (kind, wanted) in [("statics", statics), ("members", members)] {
            let there = Set(names(rows[className], kind) + names(parent, kind))
            for name in wanted.split(separator: " ").map(String.init) {
                #expect(there.contains(name), "Parse.\(className) lacks \(name) (\(kind))")
            }
            #expect(there.isDisjoint(with: Self.ofDevices))
        }
    }
}
