import Testing
import Wire

@testable import Accounts

@Suite(.serialized) struct PasswordsTests {
    /// Of cost 4, so quick to compare with; nobody knows its password.
    private static let cheap = "$2y$04$abcdefghijklmnopqrstuu5Lkw0s9nTg5yVHBqRIQhNHxZMsGzCvW"

    @Test func aHashIsOfItsPasswordAlone() async throws {
        let hash = try #require(try await Passwords.hash("llave-7"))
        #expect(hash.hasPrefix("$2b$10$") && hash.utf8.count == 60)
        #expect(try await Passwords.verify("llave-7", hash))
        #expect(try await !Passwords.verify("llave-8", hash))
        #expect(try await !Passwords.verify("llave-7 ", hash))
        #expect(try await !Passwords.verify("", hash))
        #expect(try await Passwords.hash("llave-7") != hash)
    }

    @Test func hashesOfOtherSystemsAreTaken() async throws {
        let hash = try #require(try await Passwords.hash("llave-7"))
        #expect(try await Passwords.verify("llave-7", "$2y$" + hash.dropFirst(4)))
        #expect(try await !Passwords.verify("llave-7", "not a hash"))
        #expect(try await !Passwords.verify("llave-7", ""))
        #expect(try await !Passwords.verify("anything", Passwords.nobody))
    }

    @Test func aPasswordIsNotCutAtNUL() async throws {
        let hash = try #require(try await Passwords.hash("llave"))
        #expect(try await !Passwords.verify("llave\0x", hash))
        #expect(try await Passwords.hash("a\0b") == nil)
    }

    @Test func aFloodOfLogInsIsRefusedAndPasses() async throws {
        let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 * Passwords.maximumWaiting {
                group.addTask {
                    do {
                        _ = try await Passwords.verify("wrong", Self.cheap)
                        return false
                    } catch let error as ParseError where error.status == 503 && error.retryAfter != nil {
                        return true
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(refused > 0 && refused < 4 * Passwords.maximumWaiting)
        #expect(try await !Passwords.verify("wrong", Self.cheap))
    }

    @Test func aNetworkOfIPv6IsOneAddress() async throws {
        let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<Passwords.maximumWaiting - 1 {
                group.addTask {
                    do {
                        _ = try await Passwords.verify("wrong", Passwords.nobody, for: "2001:db8::\(index)")
                        return false
                    } catch let error as ParseError where error.status == 503 { return true }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(refused > 0)
    }
}
