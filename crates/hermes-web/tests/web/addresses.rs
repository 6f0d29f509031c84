//! Every way to write an address that means another one, and what must hold for all of them.

use hermes_web::fetch::{FetchFault, PrivateNets, Rules, Target, Verdict, judge};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn read(url: &str, private: PrivateNets) -> Result<Target, FetchFault> {
    Target::read(url, &Rules { private, ..Rules::default() })
}

#[test]
fn no_spelling_of_this_machine_passes() {
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://127.0.0.1./",
        "http://127。0。0。1/",
        "http://１２７.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://127.0.0%2e1/",
        "http:\\\\127.0.0.1\\",
        "http:127.0.0.1",
        "http:/127.0.0.1/",
        "http:///127.0.0.1/",
        "ht\ntp://127.0.\t0.1/",
        "  http://127.0.0.1/  ",
        "HTTP://127.0.0.1/",
        "http://127.0.0.1:8080/",
        "http://0/",
        "http://0.0.0.0/",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://172.16.0.1/",
        "http://100.64.0.1/",
        "http://198.18.0.1/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "https://3232235777/",
    ] {
        let refused = read(url, PrivateNets::Refused).expect_err(url);
        assert!(matches!(refused, FetchFault::Private { .. }), "{url}: {refused}");
        let told = refused.to_string();
        assert!(told.starts_with("Blocked: URL targets a private or internal network address"), "{told}");
        assert!(read(url, PrivateNets::Allowed).is_ok(), "{url}: the owner may allow it");
    }
}

#[test]
fn metadata_is_refused_whatever_is_allowed() {
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://169.254.170.2/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://metadata.google.internal/",
        "http://metadata.google.internal./",
        "http://METADATA.Google.Internal:80/",
        "http://metadata.goog/",
        "http://ｍetadata.goog/",
        "http://metadata%2egoog/",
    ] {
        for private in [PrivateNets::Refused, PrivateNets::Allowed] {
            let refused = read(url, private).expect_err(url);
            assert!(matches!(refused, FetchFault::Metadata(_)), "{url}: {refused}");
        }
    }
}

#[test]
fn what_is_no_plain_address_of_the_web_is_refused_with_its_reason() {
    let fault = |url: &str| read(url, PrivateNets::Allowed).expect_err(url);
    for url in
        ["file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1:70/", "javascript:alert(1)", "localhost:80"]
    {
        assert!(matches!(fault(url), FetchFault::Scheme(_)), "{url}: {}", fault(url));
    }
    for url in [
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://example.com@127.0.0.1/",
        "http://:x@a.test",
    ] {
        assert_eq!(fault(url), FetchFault::Userinfo, "{url}");
    }
    for url in [
        "",
        "   ",
        "http://",
        "http://[::1",
        "just words",
        "http://a b/",
        "//example.com",
        "http://1.2.3.4.5.6.7.8.9.256/",
    ] {
        assert!(matches!(fault(url), FetchFault::NotAnAddress(_)), "{url}: {}", fault(url));
    }
    for (url, port) in
        [("http://example.com:22/", 22), ("http://example.com:6379/", 6379), ("https://example.com:25/", 25)]
    {
        assert_eq!(fault(url), FetchFault::Port(port), "{url}");
    }
    assert!(matches!(fault(&format!("https://example.com/{}", "a".repeat(9_000))), FetchFault::NotAnAddress(_)));
    let plain = read("example.com/page#part", PrivateNets::Refused).expect("what people write");
    assert_eq!(plain.url().as_str(), "https://example.com/page");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A carried address never fares better than the address itself.
    #[test]
    fn no_form_of_an_address_is_freer_than_the_address(bits in any::<u32>()) {
        let plain = Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = plain.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let forms = [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, 1, 2, 3, 4, !high, !low),
        ];
        for private in [PrivateNets::Refused, PrivateNets::Allowed] {
            let own = judge(IpAddr::V4(plain), private);
            for form in forms {
                let carried = judge(IpAddr::V6(form), private);
                prop_assert!(own == Verdict::Admitted || carried != Verdict::Admitted, "{form} carries {plain}");
                prop_assert!(own != Verdict::Metadata || carried == Verdict::Metadata, "{form} carries {plain}");
            }
        }
    }

    /// However a number is written, it is judged as the number it is.
    #[test]
    fn every_spelling_of_a_number_is_judged_alike(bits in any::<u32>(), port in 8000u16..9000) {
        let plain = Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = plain.octets();
        let expected = read(&format!("http://{plain}:{port}/"), PrivateNets::Refused).map(|target| target.url().clone());
        for host in [
            format!("{bits}"),
            format!("0x{bits:x}"),
            format!("0{bits:o}"),
            format!("0x{a:x}.0{b:o}.{c}.{d}"),
            format!("{a}.{}", bits & 0xff_ffff),
            format!("{plain}."),
        ] {
            let found = read(&format!("http://{host}:{port}/"), PrivateNets::Refused).map(|target| target.url().clone());
            prop_assert_eq!(&found, &expected, "{}", host);
        }
    }
}
