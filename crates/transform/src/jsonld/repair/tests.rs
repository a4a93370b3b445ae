//! The repairs one by one, and texts that want to break them. The corpus is in `tests/broken_jsonld`.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::repair;

/// The repaired text.
fn repaired(text: &str) -> Option<String> {
    repair(text).map(|repaired| repaired.text)
}

fn is_valid(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}

#[test]
fn what_is_valid_is_left_alone() {
    for text in [
        r#"{"a": "b", "c": [1, 2.5e3, true, null, {"d": "\u00e9\ud83d\ude00 \"x\""}]}"#,
        r#"[{"a": "// no comment"}, {"b": "<!-- neither -->", "c": "{{ x }}", "d": "it's ‘so’ “quoted”"}]"#,
        r#"{"a": {}, "b": [], "c": ""}"#,
        "",
        "   ",
        "42",
    ] {
        assert_eq!(repair(text), None, "{text}");
    }
}

#[test]
fn what_was_done_is_told_once() {
    let repaired = repair("var x = {'a': 'b',, 'c': 'd',};").unwrap();
    assert_eq!(repaired.text, r#"{"a":"b","c":"d"}"#);
    assert_eq!(
        repaired.done,
        [
            "took off what stands around the JSON",
            "replaced other quotes by straight double ones",
            "took out surplus commas and semicolons"
        ]
    );
}

#[test]
fn small_things() {
    for (broken, expected) in [
        ("{a:1}", r#"{"a":1}"#),
        ("{\"a\":1,\n}", r#"{"a":1}"#),
        ("{\"a\": [1, 2, 3", r#"{"a":[1,2]}"#),
        ("{\"a\": \"x\", \"b\": tru", r#"{"a":"x"}"#),
        ("{\"a\": \"x\", \"b\": true", r#"{"a":"x","b":true}"#),
        ("{\"a\": [[1], [2}, \"b\": 3}", r#"{"a":[[1],[2]],"b":3}"#),
        ("{\"a\": 1}}}}]", r#"{"a":1}"#),
        ("{\"a\": 'say \\'x\\''}", r#"{"a":"say 'x'"}"#),
        ("{\"a\": \"\\\\\", }", r#"{"a":"\\"}"#),
        ("{\"a\": \"b\" // c\n}", r#"{"a":"b"}"#),
        ("[{\"a\": 1},,{\"a\": 2}]", r#"[{"a":1},{"a":2}]"#),
        ("{\"a\": \"\", \"b\": \"\",}", r#"{"a":"","b":""}"#),
    ] {
        assert_eq!(repaired(broken).as_deref(), Some(expected), "{broken}");
    }
}

#[test]
fn what_is_no_json_stays_none() {
    for text in [
        "{",
        "[",
        "{}",
        "\"",
        "'",
        "{{",
        "// x",
        "/* x",
        "<!--",
        "&",
        "&quot;",
        "\\",
        "{\\\"",
        "function() {}",
        "{:}",
        "\u{feff}",
    ] {
        assert_eq!(repaired(text), None, "{text}");
    }
}

/// Deterministic texts that ask for work: whatever repair makes of them, it makes it in linear time.
#[test]
fn hostile_texts_take_linear_time() {
    let size = 1 << 17;
    let units = [
        "\"",
        "'",
        "{",
        "[",
        "}",
        "]",
        ",",
        ":",
        "\\",
        "\\\"",
        "\n",
        "\n}",
        "\n\"",
        " \"",
        "\",\"",
        "\", \"a",
        "{{",
        "{{\"",
        "${",
        "<a",
        "<!--",
        "/*",
        "//\n",
        "//",
        "#\n",
        "  #",
        "&quot;",
        "&",
        "\"a\":",
        "\"a\":\"",
        "{\"a\":",
        "[{",
        "{\"a\":1}",
        "{\"a\":1},\"b\":2",
        "a:",
        "a",
        "a,",
        "1,",
        "(",
        "“",
        "”,",
        "\"“",
        "```",
        "-->",
        "]]>",
        "\u{a0}",
        "+\"",
        "\"+",
        "\"x\" + ",
        "\\u",
        "\\ud83d",
        "<br>\"",
        "}{",
        "]{",
        "}\"a\":1",
    ];
    for unit in units {
        for (before, after) in [
            ("", ""),
            ("{\"a\":", "}"),
            ("{\"a\":\"", "\"}"),
            ("[\"", ""),
            ("{\"a\":[", ""),
            ("{a:", "}"),
            ("{\"", ""),
        ] {
            let body = unit.repeat(size / unit.len());
            let text = format!("{before}{body}{after}");
            let start = Instant::now();
            let result = repair(&text);
            // In a debug build on a busy machine; quadratic work would take minutes.
            assert!(start.elapsed() < Duration::from_secs(2), "{before}{unit}… took {:?}", start.elapsed());
            if let Some(result) = result {
                assert!(result.text.len() <= text.len() * 6 + 64, "{before}{unit}…");
            }
        }
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "'",
            "\"a\"",
            "\"b c\"",
            "\"a\":",
            "key:",
            "1",
            "-",
            ".5",
            "007",
            "true",
            "None",
            "\\",
            "\\\"",
            "\\u12",
            "\\ud800",
            "\n",
            " ",
            "//x\n",
            "/*",
            "*/",
            "<!--",
            "-->",
            "<br>",
            "{{",
            "}}",
            "{%",
            "%}",
            "“",
            "”",
            "’",
            "&quot;",
            "&amp;",
            ";",
            "=",
            "+",
            "https://schema.org",
            "\u{feff}",
            "\u{a0}",
            "\u{1}",
            "é",
            "😀",
            "...",
            "@type",
            "`",
            "```json",
            "]]>",
            "$",
            "${a}",
            "(",
            ")",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ];
    prop::collection::vec(fragment, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    /// Whatever comes in, what goes out is JSON, and the same every time.
    #[test]
    fn what_comes_out_is_json(text in fragments()) {
        let first = repair(&text);
        prop_assert_eq!(&first, &repair(&text));
        if let Some(first) = first {
            prop_assert!(is_valid(&first.text), "{}\n{}", text, first.text);
        }
    }

    /// Cut anywhere, a block gives JSON or nothing, and never a member it did not have.
    #[test]
    fn a_cut_block_keeps_what_is_whole(at in 0_usize..150) {
        let whole = r#"{"@context":"https://schema.org","@type":"Person","name":"Ada","address":{"@type":"PostalAddress","postalCode":1234},"knows":[1,2]}"#;
        let cut = &whole[..at.min(whole.len())];
        if let Some(repaired) = repair(cut) {
            let value: serde_json::Value = serde_json::from_str(&repaired.text).unwrap();
            let full: serde_json::Value = serde_json::from_str(whole).unwrap();
            for (key, value) in value.as_object().unwrap() {
                if !value.is_object() && !value.is_array() {
                    prop_assert_eq!(value, &full[key]);
                }
            }
        }
    }
}
