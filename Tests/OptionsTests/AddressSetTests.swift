import Options
import Testing

@Suite struct AddressSetTests {
    @Test(
        arguments: [
            (["10.1.2.3"], "10.1.2.3", true), (["10.1.2.3"], "10.1.2.4", false),
            (["10.1.2.3"], "::ffff:10.1.2.3", true), (["192.168.0.0/16"], "192.168.255.1", true),
            (["192.168.0.0/16"], "192.169.0.1", false), (["10.1.2.3/8"], "10.200.0.1", true),
            (["0.0.0.0/0"], "203.0.113.9", true), (["0.0.0.0/0"], "::1", false), (["0.0.0.0"], "203.0.113.9", true),
            (["::0"], "2001:db8::1", true), (["::/0"], "2001:db8::1", true), (["::0"], "127.0.0.1", false),
            (["::1"], "::1", true), (["::1"], "::2", false), (["2001:db8::/32"], "2001:db8:ffff::9", true),
            (["2001:db8::/32"], "2001:db9::9", false), (["fe80::/10"], "fe80::1%eth0", true),
            (["::ffff:10.0.0.0/104"], "10.9.9.9", true), ([], "127.0.0.1", false),
        ] as [([String], String, Bool)])
    func anAddressIsInASetOrNot(_ entries: [String], _ address: String, _ isIn: Bool) throws {
        #expect(try AddressSet(entries).contains(#require(Address(address))) == isIn)
    }

    @Test(arguments: ["", "localhost", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "::1/129", "10.0.0.0/-1", "1.2.3.4/1/2"])
    func whatIsNoAddressIsRefused(_ entry: String) {
        #expect(throws: OptionFault.self) { try AddressSet([entry]) }
    }

    @Test func keysWorkFromThisMachineOnlyUnlessToldOtherwise() throws {
        let local = ServerOptions().readOnlyMasterKeyIps
        #expect(try local.contains(#require(Address("127.0.0.1"))) && local.contains(#require(Address("::1"))))
        #expect(try !local.contains(#require(Address("10.0.0.1"))))
    }

    @Test(arguments: [
        ("10.1.2.3", "10.1.2.3"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"), ("::ffff:10.1.2.3", "10.1.2.3"),
    ])
    func whatOneSubscriberHasIsCountedAsOne(_ address: String, _ network: String) throws {
        #expect(try #require(Address(address)).network.description == network)
    }

    @Test(arguments: ["10.1.2.3", "2001:db8::7", "::1", "255.255.255.255"])
    func anAddressIsPrintedAsItIsWritten(_ text: String) throws {
        #expect(try #require(Address(text)).description == text)
        #expect(Address("::ffff:10.1.2.3")?.description == "10.1.2.3")
    }
}
