//! Which addresses are part of the public Internet.
//!
//! One table of everything that is not: special ranges of both families, and the forms of IPv6 that carry an IPv4 address,
//! which count as the address they carry. What the table does not name in IPv6 is public only inside of `2000::/3`. The
//! addresses where clouds hand out the credentials of a machine are refused whatever the owner allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the owner lets tools reach addresses that are not public (`security.allow_private_urls`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivateNets {
    #[default]
    Refused,
    /// All but those of a cloud's metadata.
    Allowed,
}

/// What may become of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    /// Not public, and the owner did not allow that. With what it is, in words.
    Private(&'static str),
    /// Where a cloud hands out the credentials of the machine. Nobody can allow it.
    Metadata,
}

/// Whether a connection to this address may be made.
pub fn judge(ip: IpAddr, private: PrivateNets) -> Verdict {
    match (place(ip), private) {
        (Verdict::Private(_), PrivateNets::Allowed) => Verdict::Admitted,
        (place, _) => place,
    }
}

struct Net<const N: usize> {
    start: [u8; N],
    bits: u32,
    is: Verdict,
}

const fn v4(start: [u8; 4], bits: u32, what: &'static str) -> Net<4> {
    Net { start, bits, is: Verdict::Private(what) }
}

const fn metadata4(start: [u8; 4], bits: u32) -> Net<4> {
    Net { start, bits, is: Verdict::Metadata }
}

/// The first row that matches counts.
const V4: &[Net<4>] = &[
    // The whole of link-local: metadata services of AWS, Azure, Google, Oracle, DigitalOcean and of containers live there.
    metadata4([169, 254, 0, 0], 16),
    metadata4([100, 100, 100, 200], 32), // Alibaba Cloud
    metadata4([168, 63, 129, 16], 32),   // Azure's wire server has a public number
    metadata4([192, 0, 0, 192], 32),     // Oracle Cloud, old
    v4([0, 0, 0, 0], 8, "this machine"),
    v4([10, 0, 0, 0], 8, "a private network"),
    v4([100, 64, 0, 0], 10, "a network behind a carrier or a VPN"),
    v4([127, 0, 0, 0], 8, "this machine"),
    v4([172, 16, 0, 0], 12, "a private network"),
    v4([192, 0, 0, 0], 24, "reserved for protocols"),
    v4([192, 0, 2, 0], 24, "reserved for documentation"),
    v4([192, 88, 99, 0], 24, "a relay between address families"),
    v4([192, 168, 0, 0], 16, "a private network"),
    v4([198, 18, 0, 0], 15, "reserved for measurements"),
    v4([198, 51, 100, 0], 24, "reserved for documentation"),
    v4([203, 0, 113, 0], 24, "reserved for documentation"),
    v4([224, 0, 0, 0], 4, "multicast"),
    v4([240, 0, 0, 0], 4, "reserved"),
];

const fn v6(start: [u16; 8], bits: u32, is: Verdict) -> Net<16> {
    Net {
        start: Ipv6Addr::new(start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7]).octets(),
        bits,
        is,
    }
}

const V6: &[Net<16>] = &[
    v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254], 128, Verdict::Metadata), // AWS
    v6([0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254], 128, Verdict::Metadata), // Google Cloud
    v6([0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 0x254], 128, Verdict::Metadata), // Oracle Cloud
    v6([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128, Verdict::Metadata), // OpenStack
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, Verdict::Private("this machine")),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, Verdict::Private("this machine")),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Verdict::Private("a translation inside of a network")),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, Verdict::Private("reserved for what is thrown away")),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Verdict::Private("a tunnel between address families")),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Verdict::Private("reserved for protocols")),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Verdict::Private("reserved for documentation")),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Verdict::Private("reserved for documentation")),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Verdict::Private("a private network")),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, Verdict::Private("the network of one cable")),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Verdict::Private("a private network")),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Verdict::Private("multicast")),
];

/// The part of IPv6 that is given out for the public Internet.
const GLOBAL: Net<16> = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, Verdict::Admitted);

fn place(ip: IpAddr) -> Verdict {
    match ip {
        IpAddr::V4(ip) => place_of_v4(ip),
        IpAddr::V6(ip) => place_of_v6(ip),
    }
}

fn place_of_v4(ip: Ipv4Addr) -> Verdict {
    found(V4, ip.octets()).unwrap_or(Verdict::Admitted)
}

fn place_of_v6(ip: Ipv6Addr) -> Verdict {
    let carried = carried(ip).map(place_of_v4).unwrap_or(Verdict::Admitted);
    let own = found(V6, ip.octets());
    match (carried, own) {
        (Verdict::Metadata, _) | (_, Some(Verdict::Metadata)) => Verdict::Metadata,
        (_, Some(own)) => own,
        (Verdict::Private(what), None) => Verdict::Private(what),
        (Verdict::Admitted, None) if GLOBAL.holds(ip.octets()) || is_translated(ip) => Verdict::Admitted,
        (Verdict::Admitted, None) => Verdict::Private("reserved"),
    }
}

fn found<const N: usize>(table: &[Net<N>], octets: [u8; N]) -> Option<Verdict> {
    table.iter().find(|net| net.holds(octets)).map(|net| net.is)
}

/// The IPv4 address that one of IPv6 stands for or leads to.
fn carried(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match ip.segments() {
        // Nobody and this machine themselves.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Mapped, compatible, translated, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        // Teredo writes the client's address upside down.
        [0x2001, 0, .., high, low] => Some(joined(!high, !low)),
        // ISATAP, below any prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

/// Forms outside of the public range that lead to the public address they carry.
fn is_translated(ip: Ipv6Addr) -> bool {
    matches!(ip.segments(), [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..])
}

impl<const N: usize> Net<N> {
    fn holds(&self, octets: [u8; N]) -> bool {
        let mut left = self.bits;
        self.start.iter().zip(octets).all(|(ours, theirs)| {
            let here = left.min(8);
            left -= here;
            let mask = u8::MAX.checked_shl(8 - here).unwrap_or(0);
            ours & mask == theirs & mask
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_every_range_are_where_they_belong() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "168.63.129.15",
            "2606:4700:4700::1111",
            "2a00::1",
            "3ffe::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2001:200::1",
            "2001:db7:ffff::1",
            "2001:db9::1",
        ];
        let private = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.0",
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
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:127.0.0.1",
            "::8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::10.1.2.3",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "3fff:fff::1",
            "fc00::1",
            "fdff:ffff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
            "1fff::1",
            "2606:4700::5efe:192.168.1.1",
        ];
        let metadata = [
            "169.254.0.0",
            "169.254.169.254",
            "169.254.170.2",
            "169.254.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "fd00:ec2::254",
            "::ffff:0:169.254.169.254",
            "2001:0:1:2:3:4:5601:5601",
            "fd20:ce::254",
            "::ffff:100.100.100.200",
        ];
        let judged = |text: &str, private| judge(text.parse().expect(text), private);
        for text in public {
            assert_eq!(judged(text, PrivateNets::Refused), Verdict::Admitted, "{text}");
        }
        for text in private {
            assert!(matches!(judged(text, PrivateNets::Refused), Verdict::Private(_)), "{text}");
            assert_eq!(judged(text, PrivateNets::Allowed), Verdict::Admitted, "{text}");
        }
        for text in metadata {
            for nets in [PrivateNets::Refused, PrivateNets::Allowed] {
                assert_eq!(judged(text, nets), Verdict::Metadata, "{text}");
            }
        }
    }
}
