import Testing
import Wire

@testable import Accounts

/// Which installation a registration means, and which ones give way to it.
@Suite struct InstallationRulesTests {
    private typealias Row = InstallationRules.Row
    private typealias Outcome = InstallationRules.Outcome
    private typealias Loser = InstallationRules.Loser

    private func outcome(
        _ asked: InstallationRules.Registration, _ rows: [InstallationRules.Row],
        _ options: InstallationOptions = InstallationOptions()
    ) throws -> InstallationRules.Outcome {
        try InstallationRules.outcome(asked, rows, options)
    }

    private func registration(
        _ objectId: String? = nil, id: String? = nil, token: String? = nil, type: String? = "ios", app: String? = nil
    ) -> InstallationRules.Registration {
        InstallationRules.Registration(
            objectId: objectId, ownInstallationId: id, installationId: id, deviceToken: token, deviceType: type,
            appIdentifier: app)
    }

    @Test func aDeviceThatNobodyKnowsIsNew() throws {
        #expect(try outcome(registration(id: "i", token: "t"), []) == Outcome())
        #expect(throws: ParseError.self) { try outcome(registration(id: "i", type: nil), []) }
    }

    @Test func aKnownIdIsChanged() throws {
        let rows = [Row(objectId: "a", installationId: "i", deviceType: "ios")]
        #expect(try outcome(registration(id: "i", type: nil), rows) == Outcome(target: "a"))
    }

    @Test func theTwoHalvesOfOneDeviceBecomeOne() throws {
        let rows = [
            Row(objectId: "byId", installationId: "i", deviceType: "ios"),
            Row(objectId: "byToken", deviceToken: "t", deviceType: "ios"),
        ]
        #expect(
            try outcome(registration(id: "i", token: "t"), rows)
                == Outcome(target: "byToken", losers: [Loser(objectId: "byId", field: "installationId")]))
        var options = InstallationOptions()
        options.mergePriority = .installationId
        #expect(
            try outcome(registration(id: "i", token: "t"), rows, options)
                == Outcome(target: "byId", losers: [Loser(objectId: "byToken", field: "deviceToken")]))
    }

    /// Registered again, the one row that has both must not be taken for two.
    @Test func aTokenWithoutAnIdThatIsTheMatchItselfStays() throws {
        let rows = [Row(objectId: "a", deviceToken: "t", deviceType: "ios")]
        #expect(try outcome(registration("a", id: "i", token: "t"), rows) == Outcome(target: "a"))
    }

    @Test func aTokenMovesWithinOneApplication() throws {
        let rows = [
            Row(objectId: "a", installationId: "1", deviceToken: "t", appIdentifier: "foro"),
            Row(objectId: "b", installationId: "2", deviceToken: "t", appIdentifier: "chat"),
        ]
        #expect(
            try outcome(registration(id: "3", token: "t", app: "foro"), rows)
                == Outcome(losers: [Loser(objectId: "a", field: "deviceToken")]))
        #expect(throws: ParseError.self) { try outcome(registration(token: "t"), rows) }
    }

    /// An update tells by its body, not by its path, that it is to take another's token.
    @Test func aTokenMovesToTheObjectThatTheBodyNames() throws {
        let rows = [
            Row(objectId: "a", installationId: "1", deviceToken: "t", deviceType: "android"),
            Row(objectId: "b", installationId: "2", deviceType: "android"),
        ]
        var asked = registration("b", token: "t", type: nil)
        #expect(try outcome(asked, rows) == Outcome(target: "b"))
        asked.repeatsObjectId = true
        #expect(
            try outcome(asked, rows) == Outcome(target: "b", losers: [Loser(objectId: "a", field: "deviceToken")]))
    }

    @Test func whatIdentifiesADeviceIsNotChanged() throws {
        let row = Row(objectId: "a", installationId: "1", deviceToken: "t", deviceType: "ios")
        for asked in [registration("a", id: "2"), registration("a", type: "android")] {
            let error = #expect(throws: ParseError.self) { try outcome(asked, [row]) }
            #expect(error?.code == 136)
        }
        let bare = Row(objectId: "a", deviceToken: "t", deviceType: "ios")
        let error = #expect(throws: ParseError.self) { try outcome(registration("a", token: "other"), [bare]) }
        #expect(error?.code == 136)
        #expect(try outcome(registration("a", token: "other"), [row]) == Outcome(target: "a"))
    }
}
