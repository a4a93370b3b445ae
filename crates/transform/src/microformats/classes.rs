//! What a class name says: an item, a property and how to read it, or nothing.

/// How a property's element is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Prefix {
    /// `p-`: its words.
    Plain,
    /// `u-`: what it links to.
    Url,
    /// `dt-`: a date or a time.
    Date,
    /// `e-`: its markup.
    Embedded,
}

/// A class name of microformats2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class<'c> {
    /// `h-*`, whole.
    Root(&'c str),
    /// A property's prefix and its name.
    Property(Prefix, &'c str),
}

/// Reads a class name.
pub(super) fn classify(token: &str) -> Option<Class<'_>> {
    let (prefix, name) = token.split_once('-')?;
    let class = match prefix {
        "h" => Class::Root(token),
        "p" => Class::Property(Prefix::Plain, name),
        "u" => Class::Property(Prefix::Url, name),
        "dt" => Class::Property(Prefix::Date, name),
        "e" => Class::Property(Prefix::Embedded, name),
        _ => return None,
    };
    is_name(name).then_some(class)
}

/// Words of letters with hyphens between; before them, a vendor's prefix may have digits too.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut words = name.split('-');
    let Some(first) = words.next() else { return false };
    let is_vendor =
        !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let (rest_good, rest_count) =
        words.fold((true, 0), |(good, count), word| (good && is_word(word), count + 1));
    rest_good && (is_word(first) || (is_vendor && rest_count > 0))
}

/// True for `h-*` names that style sheets in wide use give to heights. On the web they outnumber all microformats.
pub(super) fn is_height(root: &str) -> bool {
    matches!(
        root,
        "h-auto"
            | "h-dvh"
            | "h-fill"
            | "h-fit"
            | "h-full"
            | "h-lvh"
            | "h-max"
            | "h-min"
            | "h-px"
            | "h-screen"
            | "h-svh"
            | "h-half"
            | "h-inherit"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_after_an_optional_vendor() {
        for good in ["h-card", "h-x-card", "h-8-vendor-card", "h-8to8-vendor-card", "h-a-b-c-d"] {
            assert_eq!(classify(good), Some(Class::Root(good)));
        }
        for bad in [
            "h-",
            "h",
            "h-car1d",
            "h-car_d",
            "x-card",
            "x-h-card",
            "h-vendor--card",
            "h-vendor-8card",
            "h-vendor-card-",
            "h-8to8-ven1or-card",
            "h-8-8-vendor-card",
            "H-card",
            "h-Card",
            "h-8",
            "h-é",
            "-card",
        ] {
            assert_eq!(classify(bad), None, "{bad}");
        }
        assert_eq!(classify("dt-start"), Some(Class::Property(Prefix::Date, "start")));
        assert_eq!(classify("e-content"), Some(Class::Property(Prefix::Embedded, "content")));
        assert_eq!(classify("u-in-reply-to"), Some(Class::Property(Prefix::Url, "in-reply-to")));
    }
}
