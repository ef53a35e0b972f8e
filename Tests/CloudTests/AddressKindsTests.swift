import HTTP
import Testing

/// Which addresses webhooks may lie on.
@Suite struct AddressKindsTests {
    @Test(arguments: [
        "169.254.0.0", "169.254.169.254", "169.254.255.255", "::ffff:169.254.169.254", "::169.254.169.254",
        "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::1", "64:ff9b:1::a9fe:a9fe", "::ffff:0:169.254.169.254",
        "2001:0:4136:e378:8000:63bf:5601:5601", "fe80::", "fe80::1", "febf:ffff::1", "fd00:ec2::254",
    ]) func linkLocal(text: String) throws {
        let address = try #require(PeerAddress.Host(text))
        #expect(address.isLinkLocal)
        #expect(address.isPrivate)
    }

    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
        "127.255.255.254", "172.16.0.0", "172.31.255.255", "192.0.0.8", "192.168.0.1", "198.18.0.1", "198.19.255.255",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.1.2.3",
        "64:ff9b::192.168.1.1", "2002:7f00:1::", "64:ff9b:1::808:808", "::ffff:0:10.1.2.3",
        "2001:0:4136:e378:8000:63bf:80ff:fffe", "fc00::1", "fdff::1", "fec0::1", "ff02::1",
    ]) func privateOnes(text: String) throws {
        let address = try #require(PeerAddress.Host(text))
        #expect(address.isPrivate)
        #expect(!address.isLinkLocal)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1", "128.0.0.1",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8", "2002:808:808::1", "::ffff:0:8.8.8.8",
        "2001:0:4136:e378:8000:63bf:f7f7:f7f7", "fe00::1", "2001:db8::1",
    ]) func publicOnes(text: String) throws {
        let address = try #require(PeerAddress.Host(text))
        #expect(!address.isPrivate && !address.isLinkLocal)
    }

    @Test(arguments: ["", "1.2.3", "256.1.1.1", "example.com", "fe80::1%eth0", "[::1]"]) func noAddress(text: String) {
        #expect(PeerAddress.Host(text) == nil)
    }
}
