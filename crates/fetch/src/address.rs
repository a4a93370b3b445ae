//! Which addresses are part of the public web.
//!
//! In: an address that a name resolved to, or that stood in a URL. Out: whether a crawler may connect to it.
//! Refused is every range the IANA special-purpose registries reserve for something other than global
//! unicast, what clouds use for instance metadata, and every IPv6 form that carries such an IPv4
//! address inside. This is the guard against pages that make the crawler talk to its own network
//! (server-side request forgery). It judges addresses only; whoever connects must connect to the very
//! address that was judged. Start at [`is_public`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True when the address may belong to a host on the public web.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Blocks of IPv4 that are not public, as network and prefix length.
const SPECIAL_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),        // this network, unspecified
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // shared by carriers; Alibaba's metadata service
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // Azure's host services, although the block is public
    ([169, 254, 0, 0], 16),   // link-local; most clouds' metadata service
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocol assignments; Oracle's metadata service
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 31, 196, 0], 24),  // AS112
    ([192, 52, 193, 0], 24),  // AMT relays
    ([192, 88, 99, 0], 24),   // 6to4 relays
    ([192, 168, 0, 0], 16),   // private
    ([192, 175, 48, 0], 24),  // AS112
    ([198, 18, 0, 0], 15),    // benchmarks
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, broadcast
];

/// Blocks within the global unicast space of IPv6 that are not public.
const SPECIAL_V6: &[([u16; 8], u32)] = &[
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments: Teredo, benchmarks, ORCHID
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), // AS112
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().any(|&(network, length)| {
        let mask = u32::MAX << (32 - length);
        address.to_bits() & mask == Ipv4Addr::from(network).to_bits()
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Mapped addresses reach the IPv4 host they name.
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    // So do those of a NAT64 gateway, which is how networks without IPv4 see all of it.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return is_public_v4(embedded(segments[6], segments[7]));
    }
    // 6to4 carries the IPv4 address of its router.
    if segments[0] == 0x2002 && !is_public_v4(embedded(segments[1], segments[2])) {
        return false;
    }
    // ISATAP carries the IPv4 address of the host behind any prefix.
    if segments[4] & 0xfdff == 0 && segments[5] == 0x5efe && !is_public_v4(embedded(segments[6], segments[7]))
    {
        return false;
    }
    // Everything that is handed out lies in 2000::/3. Outside are loopback, unspecified, compatible and
    // translated IPv4, local NAT64, discard-only, segment routing, unique-local, link-local, multicast, and
    // what nobody has yet.
    segments[0] & 0xe000 == 0x2000
        && !SPECIAL_V6.iter().any(|&(network, length)| {
            let mask = u128::MAX << (128 - length);
            address.to_bits() & mask == Ipv6Addr::from(network).to_bits()
        })
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn special_addresses_are_refused() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.31.196.1",
            "192.52.193.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "192.175.48.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::10.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.1.2.3",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2002:c0a8:101::1",
            "2002:a9fe:a9fe::",
            "2606:4700::5efe:192.168.0.1",
            "2606:4700:0:0:200:5efe:10.0.0.1",
            "3fff::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ffff::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_allowed() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.15",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.0.3.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2002:808:808::1",
            "2606:4700::1111",
            "2606:4700::5efe:8.8.8.8",
            "2a00:1450:4001::200e",
            "3ffe::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn hiding_an_ipv4_address_in_ipv6_never_helps(bits: u32, host: u64) {
            let hidden = Ipv4Addr::from_bits(bits);
            let [high, low] = [(bits >> 16) as u16, bits as u16];
            let six_to_four =
                Ipv6Addr::from_bits((0x2002_u128 << 112) | (u128::from(bits) << 80) | u128::from(host));
            for form in [
                hidden.to_ipv6_mapped(),
                hidden.to_ipv6_compatible(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                six_to_four,
                Ipv6Addr::new(0x2a00, 1, 2, 3, 0, 0x5efe, high, low),
            ] {
                prop_assert!(!is_public(form.into()) || is_public(hidden.into()), "{form} hides {hidden}");
            }
        }
    }
}
