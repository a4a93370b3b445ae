//! Blocks and documents of JSON-LD, text in and quads out.

use super::*;

#[test]
fn wrappings_come_off() {
    for (given, expected) in [
        ("{}", ("{}", 1)),
        ("\n\n {} \n", ("{}", 3)),
        ("\u{feff}{}", ("{}", 1)),
        ("<!--\n{}\n-->", ("{}", 2)),
        ("//<![CDATA[\n{}\n//]]>", ("{}", 2)),
        ("/*<![CDATA[*/{}/*]]>*/", ("{}", 1)),
        ("<![CDATA[{\"a\":\"//\"}]]>", ("{\"a\":\"//\"}", 1)),
        ("// <!--\n[]\n// -->", ("[]", 2)),
        ("", ("", 1)),
        ("<!---->", ("", 1)),
    ] {
        assert_eq!(unwrap(given, 1), expected, "{given}");
    }
}
