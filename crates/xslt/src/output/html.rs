//! What HTML 4 says of its elements and attributes.

fn among(name: &str, list: &[&str]) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Elements without end tag.
pub(super) fn is_void(element: &str) -> bool {
    among(
        element,
        &[
            "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "img", "input", "isindex",
            "link", "meta", "param", "source", "track", "wbr",
        ],
    )
}

/// Elements whose text is not escaped.
pub(super) fn is_raw_text(element: &str) -> bool {
    among(element, &["script", "style"])
}

/// Elements in or around which white space shows.
pub(super) fn keeps_space(element: &str) -> bool {
    among(element, &["pre", "textarea", "script", "style"])
}

/// Elements that stand in a line of text.
pub(super) fn is_inline(element: &str) -> bool {
    among(
        element,
        &[
            "a", "abbr", "acronym", "applet", "b", "basefont", "bdo", "big", "br", "button", "cite", "code",
            "del", "dfn", "em", "font", "i", "iframe", "img", "input", "ins", "kbd", "label", "map",
            "object", "q", "s", "samp", "select", "small", "span", "strike", "strong", "sub", "sup",
            "textarea", "tt", "u", "var",
        ],
    )
}

/// Attributes that say yes by being there, and the elements that have them.
pub(super) fn is_boolean(element: &str, attribute: &str) -> bool {
    let elements: &[&str] = match attribute.to_ascii_lowercase().as_str() {
        "checked" => &["input"],
        "compact" => &["dir", "dl", "menu", "ol", "ul"],
        "declare" => &["object"],
        "defer" => &["script"],
        "disabled" => &["button", "input", "optgroup", "option", "select", "textarea"],
        "ismap" => &["img", "input"],
        "multiple" => &["select"],
        "nohref" => &["area"],
        "noresize" => &["frame"],
        "noshade" => &["hr"],
        "nowrap" => &["td", "th"],
        "readonly" => &["input", "textarea"],
        "selected" => &["option"],
        _ => return false,
    };
    among(element, elements)
}

/// Attributes that are addresses.
pub(super) fn is_uri(element: &str, attribute: &str) -> bool {
    match attribute.to_ascii_lowercase().as_str() {
        "href" | "src" | "action" | "background" | "longdesc" | "usemap" | "codebase" | "classid"
        | "profile" => true,
        "cite" => among(element, &["blockquote", "q", "del", "ins"]),
        "data" => element.eq_ignore_ascii_case("object"),
        "for" => element.eq_ignore_ascii_case("script"),
        "name" => element.eq_ignore_ascii_case("a"),
        _ => false,
    }
}
