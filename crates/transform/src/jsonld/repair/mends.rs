//! The kinds of repairs, and a set of them in the words of a diagnostic.

/// One kind of repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mend {
    Around,
    Comments,
    Tags,
    OddSpaces,
    Entities,
    Escaped,
    Placeholders,
    InnerQuotes,
    OtherQuotes,
    UnclosedString,
    Concatenated,
    ControlCharacters,
    Escapes,
    Surrogates,
    UnquotedKeys,
    UnquotedValues,
    Numbers,
    Colons,
    MissingCommas,
    SurplusCommas,
    MissingBrackets,
    SurplusBrackets,
    WrongBrackets,
    Several,
    EmptyValues,
    Skipped,
    CutShort,
}

const WORDS: &[(Mend, &str)] = &[
    (Mend::Around, "took off what stands around the JSON"),
    (Mend::Comments, "took out comments"),
    (Mend::Tags, "took out markup"),
    (Mend::OddSpaces, "took out characters that are no JSON white space"),
    (Mend::Entities, "decoded character references"),
    (Mend::Escaped, "unpacked JSON that was escaped as a string"),
    (Mend::Placeholders, "left out members with unfilled template placeholders"),
    (Mend::InnerQuotes, "escaped quotes inside strings"),
    (Mend::OtherQuotes, "replaced other quotes by straight double ones"),
    (Mend::UnclosedString, "closed strings"),
    (Mend::Concatenated, "joined strings"),
    (Mend::ControlCharacters, "escaped control characters"),
    (Mend::Escapes, "corrected escapes"),
    (Mend::Surrogates, "replaced halves of characters"),
    (Mend::UnquotedKeys, "quoted keys"),
    (Mend::UnquotedValues, "quoted values"),
    (Mend::Numbers, "corrected numbers and literals"),
    (Mend::Colons, "corrected what stands between key and value"),
    (Mend::MissingCommas, "added commas"),
    (Mend::SurplusCommas, "took out surplus commas and semicolons"),
    (Mend::MissingBrackets, "added brackets"),
    (Mend::SurplusBrackets, "took out surplus brackets"),
    (Mend::WrongBrackets, "corrected brackets"),
    (Mend::Several, "made an array of several values"),
    (Mend::EmptyValues, "left out members without a value"),
    (Mend::Skipped, "left out what could not be understood"),
    (Mend::CutShort, "left out the unfinished end"),
];

/// A set of repairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mends(u32);

impl Mends {
    pub(super) fn add(&mut self, mend: Mend) {
        self.0 |= 1 << (mend as u32);
    }

    fn has(self, mend: Mend) -> bool {
        self.0 & (1 << (mend as u32)) != 0
    }

    /// What was done, in an order that does not depend on the text.
    pub(super) fn words(self) -> Vec<String> {
        WORDS.iter().filter(|(mend, _)| self.has(*mend)).map(|(_, words)| (*words).to_owned()).collect()
    }
}
