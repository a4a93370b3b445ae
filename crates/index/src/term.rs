//! Term ids: 128 bits that name an RDF term without asking anybody.
//!
//! In: a term. Out: a [`TermId`], four bits of kind and 124 bits that are either a keyed hash of the
//! term or, for small values whose text can be rebuilt exactly, the value itself. The module also
//! writes terms as bytes ([`encode_text`]) and reads them back ([`decode`]), for the segment's table
//! of strings.
//!
//! Why a hash: a dictionary that must be looked up before every write is what costs most in other
//! stores, and writers on several machines would have to share it. Why a *keyed* hash: pages are
//! written by strangers, and without a secret key one could be made to collide with another's terms.
//! With the key, 124 bits make an accident as likely as a failing memory chip.

use std::fmt;
use std::hash::Hasher;

use oxrdf::vocab::xsd;
use oxrdf::{
    BlankNode, GraphName, GraphNameRef, Literal, LiteralRef, NamedNode, NamedNodeRef, NamedOrBlankNode,
    NamedOrBlankNodeRef, Term, TermRef,
};
use siphasher::sip128::{Hasher128, SipHasher13};
use webloom_model::vocab::is_derived_graph;

/// The name of a term inside one store. Ids are ordered, first by kind; scans come in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(u128);

/// What the top four bits of a [`TermId`] say. The numbers are part of the file format.
///
/// Metadata graphs have a kind of their own so that they are one contiguous range of ids in every
/// segment: leaving them out of the default graph is one comparison of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TermKind {
    /// The default graph; not a term.
    DefaultGraph = 0,
    /// An IRI.
    Iri = 1,
    /// An IRI that begins with `urn:webloom:meta:` or `urn:webloom:inferred:`, the name of a graph that no page wrote.
    MetaIri = 2,
    /// A blank node.
    BlankNode = 3,
    /// A literal kept as text.
    Literal = 4,
    /// An `xsd:integer` in canonical form that fits 64 bits, inline, in numeric order.
    Integer = 5,
    /// An `xsd:boolean` written `true` or `false`, inline.
    Boolean = 6,
    /// An `xsd:date` of the shape `2006-11-05`, inline, in order of time.
    Date = 7,
    /// An `xsd:dateTime` of the shape `2006-11-05T09:30:00Z`, inline, in order of time.
    DateTime = 8,
}

const KIND_SHIFT: u32 = 124;
const PAYLOAD_MASK: u128 = (1 << KIND_SHIFT) - 1;
const SIGN: u64 = 1 << 63;
const NUMBER_SHIFT: u32 = KIND_SHIFT - 64;

const LITERAL_SIMPLE: u8 = 0;
const LITERAL_LANGUAGE: u8 = 1;
const LITERAL_TYPED: u8 = 2;

impl TermId {
    /// The id that stands for the default graph.
    pub const DEFAULT_GRAPH: Self = Self(0);

    pub(crate) const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    pub(crate) const fn to_bits(self) -> u128 {
        self.0
    }

    const fn new(kind: TermKind, payload: u128) -> Self {
        Self(((kind as u128) << KIND_SHIFT) | (payload & PAYLOAD_MASK))
    }

    /// The smallest id a kind can have.
    pub(crate) const fn first_of_tag(tag: u8) -> Self {
        Self((tag as u128) << KIND_SHIFT)
    }

    pub(crate) const fn tag(self) -> u8 {
        (self.0 >> KIND_SHIFT) as u8
    }

    pub(crate) const fn payload(self) -> u128 {
        self.0 & PAYLOAD_MASK
    }

    /// The upper half of the payload: 64 bits by which the text index knows subjects and graphs. Ids are sorted by it, so
    /// that the term can be found again.
    pub(crate) const fn number(self) -> u64 {
        (self.payload() >> NUMBER_SHIFT) as u64
    }

    /// The smallest id of a kind with this [`TermId::number`].
    pub(crate) const fn first_of_number(kind: TermKind, number: u64) -> Self {
        Self::new(kind, (number as u128) << NUMBER_SHIFT)
    }

    /// What kind of term this names; nothing for a kind that a newer program made up.
    pub fn kind(self) -> Option<TermKind> {
        Some(match self.tag() {
            0 => TermKind::DefaultGraph,
            1 => TermKind::Iri,
            2 => TermKind::MetaIri,
            3 => TermKind::BlankNode,
            4 => TermKind::Literal,
            5 => TermKind::Integer,
            6 => TermKind::Boolean,
            7 => TermKind::Date,
            8 => TermKind::DateTime,
            _ => return None,
        })
    }

    /// True for the name of a graph that no page wrote: metadata, or inferred statements.
    pub fn is_metadata(self) -> bool {
        self.tag() == TermKind::MetaIri as u8
    }

    /// True when the id itself holds the value, so that no text is stored for it.
    pub fn is_inline(self) -> bool {
        self.tag() == TermKind::DefaultGraph as u8 || self.tag() > TermKind::Literal as u8
    }

    /// The number, for an inline `xsd:integer`.
    pub fn as_integer(self) -> Option<i64> {
        (self.kind() == Some(TermKind::Integer)).then_some(((self.0 as u64) ^ SIGN) as i64)
    }

    /// The truth value, for an inline `xsd:boolean`.
    pub fn as_boolean(self) -> Option<bool> {
        (self.kind() == Some(TermKind::Boolean)).then_some(self.0 as u8 == 1)
    }
}

impl fmt::Debug for TermId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(kind) => write!(f, "{kind:?}:{:031x}", self.payload()),
            None => write!(f, "Unknown:{:032x}", self.0),
        }
    }
}

/// Gives terms their ids, by the secret key of one store.
#[derive(Clone)]
pub struct TermHasher {
    key: [u8; 16],
    hasher: SipHasher13,
}

impl fmt::Debug for TermHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is a secret between the store and itself; logs are not the place for it.
        f.write_str("TermHasher(…)")
    }
}

impl TermHasher {
    /// A hasher with this key.
    pub fn new(key: [u8; 16]) -> Self {
        Self { key, hasher: SipHasher13::new_with_key(&key) }
    }

    pub(crate) fn key(&self) -> [u8; 16] {
        self.key
    }

    /// The id of a term.
    pub fn term(&self, term: TermRef<'_>) -> TermId {
        match term {
            TermRef::NamedNode(node) => self.iri(node.as_str()),
            TermRef::BlankNode(node) => self.blank(node.as_str()),
            TermRef::Literal(literal) => self.literal(literal),
        }
    }

    /// The id of a subject.
    pub fn subject(&self, subject: NamedOrBlankNodeRef<'_>) -> TermId {
        match subject {
            NamedOrBlankNodeRef::NamedNode(node) => self.iri(node.as_str()),
            NamedOrBlankNodeRef::BlankNode(node) => self.blank(node.as_str()),
        }
    }

    /// The id of a graph's name.
    pub fn graph(&self, graph: GraphNameRef<'_>) -> TermId {
        match graph {
            GraphNameRef::NamedNode(node) => self.iri(node.as_str()),
            GraphNameRef::BlankNode(node) => self.blank(node.as_str()),
            GraphNameRef::DefaultGraph => TermId::DEFAULT_GRAPH,
        }
    }

    /// The id of an IRI.
    pub fn iri(&self, iri: &str) -> TermId {
        self.of_text(kind_of_iri(iri), iri.as_bytes())
    }

    /// The id of a term that is not inline, by its kind and the bytes [`encode_text`] writes.
    pub(crate) fn of_text(&self, kind: TermKind, text: &[u8]) -> TermId {
        TermId::new(kind, self.hasher.hash(text).as_u128())
    }

    fn blank(&self, label: &str) -> TermId {
        TermId::new(TermKind::BlankNode, self.hasher.hash(label.as_bytes()).as_u128())
    }

    fn literal(&self, literal: LiteralRef<'_>) -> TermId {
        if let Some(id) = inline(literal) {
            return id;
        }
        let (value, datatype, language) = parts(literal);
        let mut hasher = self.hasher;
        // The same bytes as `encode_text`, so that two literals share an id only when they share their text.
        match (datatype, language) {
            (_, Some(language)) => {
                hasher.write(&[LITERAL_LANGUAGE]);
                hasher.write(&length_prefix(language));
                hasher.write(language.as_bytes());
            }
            (Some(datatype), None) => {
                hasher.write(&[LITERAL_TYPED]);
                hasher.write(&length_prefix(datatype.as_str()));
                hasher.write(datatype.as_str().as_bytes());
            }
            (None, None) => hasher.write(&[LITERAL_SIMPLE]),
        }
        hasher.write(value.as_bytes());
        TermId::new(TermKind::Literal, hasher.finish128().as_u128())
    }
}

/// Which kind of term an IRI is.
pub(crate) fn kind_of_iri(iri: &str) -> TermKind {
    if is_derived_graph(iri) { TermKind::MetaIri } else { TermKind::Iri }
}

/// Value, datatype unless it goes without saying, and language of a literal.
fn parts(literal: LiteralRef<'_>) -> (&str, Option<NamedNodeRef<'_>>, Option<&str>) {
    let datatype = if literal.language().is_some() {
        None
    } else {
        Some(literal.datatype()).filter(|datatype| *datatype != xsd::STRING)
    };
    (literal.value(), datatype, literal.language())
}

fn length_prefix(text: &str) -> [u8; 4] {
    // A text of more than four gigabytes does not fit a page, let alone a tag or a datatype.
    (text.len() as u32).to_le_bytes()
}

/// The id of a literal that is its own id. Only text that [`inline_literal`] gives back letter by letter qualifies.
pub(crate) fn inline(literal: LiteralRef<'_>) -> Option<TermId> {
    let (value, datatype, language) = parts(literal);
    if language.is_some() {
        return None;
    }
    let datatype = datatype?;
    if datatype == xsd::INTEGER {
        let number: i64 = canonical_integer(value)?;
        Some(TermId::new(TermKind::Integer, u128::from((number as u64) ^ SIGN)))
    } else if datatype == xsd::BOOLEAN {
        let truth = match value {
            "true" => 1,
            "false" => 0,
            _ => return None,
        };
        Some(TermId::new(TermKind::Boolean, truth))
    } else if datatype == xsd::DATE {
        Some(TermId::new(TermKind::Date, digits_of_shape(value, b"dddd-dd-dd")?))
    } else if datatype == xsd::DATE_TIME {
        Some(TermId::new(TermKind::DateTime, digits_of_shape(value, b"dddd-dd-ddTdd:dd:ddZ")?))
    } else {
        None
    }
}

/// The number, when the text is exactly what printing the number gives: no plus, no leading zeros, no `-0`.
fn canonical_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let canonical = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if canonical { text.parse().ok() } else { None }
}

/// All digits of the text as one number, when the text has the shape (`d` is a digit, the rest is literal).
fn digits_of_shape(text: &str, shape: &[u8]) -> Option<u128> {
    let bytes = text.as_bytes();
    if bytes.len() != shape.len() {
        return None;
    }
    let mut number = 0;
    for (&byte, &wanted) in bytes.iter().zip(shape) {
        match wanted {
            b'd' if byte.is_ascii_digit() => number = number * 10 + u128::from(byte - b'0'),
            b'd' => return None,
            _ if byte == wanted => {}
            _ => return None,
        }
    }
    Some(number)
}

/// The literal that an inline id holds; nothing for ids that are not inline or that nobody can have made.
pub(crate) fn inline_literal(id: TermId) -> Option<Literal> {
    let payload = id.payload();
    Some(match id.kind()? {
        TermKind::Integer => Literal::new_typed_literal(id.as_integer()?.to_string(), xsd::INTEGER),
        TermKind::Boolean => {
            Literal::new_typed_literal(if payload == 1 { "true" } else { "false" }, xsd::BOOLEAN)
        }
        TermKind::Date => {
            let (year, month, day) = (payload / 10_000, payload / 100 % 100, payload % 100);
            Literal::new_typed_literal(format!("{year:04}-{month:02}-{day:02}"), xsd::DATE)
        }
        TermKind::DateTime => {
            let (date, time) = (payload / 1_000_000, payload % 1_000_000);
            Literal::new_typed_literal(
                format!(
                    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                    date / 10_000,
                    date / 100 % 100,
                    date % 100,
                    time / 10_000,
                    time / 100 % 100,
                    time % 100
                ),
                xsd::DATE_TIME,
            )
        }
        TermKind::DefaultGraph
        | TermKind::Iri
        | TermKind::MetaIri
        | TermKind::BlankNode
        | TermKind::Literal => {
            return None;
        }
    })
}

/// Appends the bytes a segment keeps for a term. The kind is in the id, so it is not repeated here.
pub(crate) fn encode_text(term: TermRef<'_>, out: &mut Vec<u8>) {
    match term {
        TermRef::NamedNode(node) => out.extend_from_slice(node.as_str().as_bytes()),
        TermRef::BlankNode(node) => out.extend_from_slice(node.as_str().as_bytes()),
        TermRef::Literal(literal) => {
            let (value, datatype, language) = parts(literal);
            match (datatype, language) {
                (_, Some(language)) => {
                    out.push(LITERAL_LANGUAGE);
                    out.extend_from_slice(&length_prefix(language));
                    out.extend_from_slice(language.as_bytes());
                }
                (Some(datatype), None) => {
                    out.push(LITERAL_TYPED);
                    out.extend_from_slice(&length_prefix(datatype.as_str()));
                    out.extend_from_slice(datatype.as_str().as_bytes());
                }
                (None, None) => out.push(LITERAL_SIMPLE),
            }
            out.extend_from_slice(value.as_bytes());
        }
    }
}

/// The term of an id and its stored bytes; nothing when the bytes are not what [`encode_text`] writes.
pub(crate) fn decode(id: TermId, bytes: &[u8]) -> Option<Term> {
    match id.kind()? {
        TermKind::Iri | TermKind::MetaIri => {
            Some(NamedNode::new_unchecked(std::str::from_utf8(bytes).ok()?).into())
        }
        TermKind::BlankNode => Some(BlankNode::new_unchecked(std::str::from_utf8(bytes).ok()?).into()),
        TermKind::Literal => {
            let (&form, rest) = bytes.split_first()?;
            let split = || -> Option<(&str, &str)> {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                let (head, value) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                Some((std::str::from_utf8(head).ok()?, std::str::from_utf8(value).ok()?))
            };
            Some(match form {
                LITERAL_SIMPLE => Literal::new_simple_literal(std::str::from_utf8(rest).ok()?).into(),
                LITERAL_LANGUAGE => {
                    let (language, value) = split()?;
                    Literal::new_language_tagged_literal_unchecked(value, language).into()
                }
                LITERAL_TYPED => {
                    let (datatype, value) = split()?;
                    Literal::new_typed_literal(value, NamedNode::new_unchecked(datatype)).into()
                }
                _ => return None,
            })
        }
        _ => inline_literal(id).map(Term::from),
    }
}

/// The term as a subject, if it can be one.
pub(crate) fn into_subject(term: Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(node) => Some(node.into()),
        Term::BlankNode(node) => Some(node.into()),
        Term::Literal(_) => None,
    }
}

/// The term as a graph's name, if it can be one.
pub(crate) fn into_graph_name(term: Term) -> Option<GraphName> {
    match term {
        Term::NamedNode(node) => Some(node.into()),
        Term::BlankNode(node) => Some(node.into()),
        Term::Literal(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hasher() -> TermHasher {
        TermHasher::new(*b"0123456789abcdef")
    }

    #[track_caller]
    fn check_round_trip(term: &Term) -> TermId {
        let id = hasher().term(term.as_ref());
        let mut bytes = Vec::new();
        if !id.is_inline() {
            encode_text(term.as_ref(), &mut bytes);
        }
        assert_eq!(decode(id, &bytes).as_ref(), Some(term), "{id:?}");
        id
    }

    fn typed(value: &str, datatype: &str) -> Term {
        Literal::new_typed_literal(value, NamedNode::new_unchecked(datatype)).into()
    }

    #[test]
    fn kinds_of_terms() {
        let xsd = |local: &str| format!("http://www.w3.org/2001/XMLSchema#{local}");
        for (term, kind) in [
            (NamedNode::new_unchecked("http://example.org/").into(), TermKind::Iri),
            (NamedNode::new_unchecked("urn:webloom:meta:http://example.org/").into(), TermKind::MetaIri),
            (NamedNode::new_unchecked("urn:webloom:metal").into(), TermKind::Iri),
            (BlankNode::new_unchecked("b0").into(), TermKind::BlankNode),
            (Literal::new_simple_literal("").into(), TermKind::Literal),
            (Literal::new_language_tagged_literal_unchecked("x", "en").into(), TermKind::Literal),
            (typed("x", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"), TermKind::Literal),
            (typed("x", ""), TermKind::Literal),
            (typed("0", &xsd("integer")), TermKind::Integer),
            (typed("-9223372036854775808", &xsd("integer")), TermKind::Integer),
            (typed("9223372036854775807", &xsd("integer")), TermKind::Integer),
            (typed("9223372036854775808", &xsd("integer")), TermKind::Literal),
            (typed("01", &xsd("integer")), TermKind::Literal),
            (typed("+1", &xsd("integer")), TermKind::Literal),
            (typed("-0", &xsd("integer")), TermKind::Literal),
            (typed(" 1", &xsd("integer")), TermKind::Literal),
            (typed("", &xsd("integer")), TermKind::Literal),
            (typed("1", &xsd("int")), TermKind::Literal),
            (typed("true", &xsd("boolean")), TermKind::Boolean),
            (typed("1", &xsd("boolean")), TermKind::Literal),
            (typed("2006-11-05", &xsd("date")), TermKind::Date),
            (typed("2006-99-99", &xsd("date")), TermKind::Date),
            (typed("2006-11-05Z", &xsd("date")), TermKind::Literal),
            (typed("-2006-11-05", &xsd("date")), TermKind::Literal),
            (typed("2006-11-05T09:30:00Z", &xsd("dateTime")), TermKind::DateTime),
            (typed("2006-11-05T09:30:00", &xsd("dateTime")), TermKind::Literal),
            (typed("2006-11-05T09:30:00.5Z", &xsd("dateTime")), TermKind::Literal),
        ] {
            assert_eq!(check_round_trip(&term).kind(), Some(kind), "{term}");
        }
    }

    #[test]
    fn literals_that_look_alike_have_ids_of_their_own() {
        let terms: [Term; 7] = [
            Literal::new_simple_literal("chat").into(),
            Literal::new_language_tagged_literal_unchecked("chat", "en").into(),
            Literal::new_language_tagged_literal_unchecked("chat", "fr").into(),
            Literal::new_language_tagged_literal_unchecked("chat", "EN").into(),
            typed("chat", "http://example.org/en"),
            Literal::new_language_tagged_literal_unchecked("nchat", "e").into(),
            Literal::new_simple_literal("\u{1}chat").into(),
        ];
        let mut ids: Vec<_> = terms.iter().map(check_round_trip).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), terms.len());
    }

    #[test]
    fn another_key_gives_other_ids() {
        let other = TermHasher::new([7; 16]);
        assert_ne!(hasher().iri("http://example.org/"), other.iri("http://example.org/"));
    }

    #[test]
    fn bytes_nobody_wrote_are_refused() {
        let literal = hasher().term(Literal::new_simple_literal("x").as_ref().into());
        for bytes in [&[][..], &[9], &[1], &[1, 255, 255, 255, 255, 0], &[2, 1, 0, 0, 0], &[0, 0xff]] {
            assert_eq!(decode(literal, bytes), None, "{bytes:?}");
        }
        assert_eq!(decode(TermId::from_bits(u128::MAX), b""), None);
        assert_eq!(decode(TermId::DEFAULT_GRAPH, b""), None);
    }

    fn any_term() -> impl Strategy<Value = Term> {
        let datatype = prop_oneof![
            Just(xsd::INTEGER.as_str().to_owned()),
            Just(xsd::BOOLEAN.as_str().to_owned()),
            Just(xsd::DATE.as_str().to_owned()),
            Just(xsd::DATE_TIME.as_str().to_owned()),
            Just(xsd::STRING.as_str().to_owned()),
            ".{0,12}",
        ];
        prop_oneof![
            "(urn:webloom:meta:)?.{0,20}".prop_map(|text| NamedNode::new_unchecked(text).into()),
            ".{0,20}".prop_map(|text| BlankNode::new_unchecked(text).into()),
            ".{0,20}".prop_map(|text| Literal::new_simple_literal(text).into()),
            (".{0,9}", "[a-zA-Z-]{0,9}").prop_map(|(value, language)| {
                Literal::new_language_tagged_literal_unchecked(value, language).into()
            }),
            ("[-+0-9truefalsTZ:]{0,20}", datatype).prop_map(|(value, datatype)| typed(&value, &datatype)),
            any::<i64>().prop_map(|number| typed(&number.to_string(), xsd::INTEGER.as_str())),
        ]
    }

    proptest! {
        #[test]
        fn every_term_comes_back_as_it_was(term in any_term()) {
            check_round_trip(&term);
        }

        #[test]
        fn different_terms_have_different_ids(left in any_term(), right in any_term()) {
            let hasher = hasher();
            prop_assert_eq!(hasher.term(left.as_ref()) == hasher.term(right.as_ref()), left == right);
        }

        #[test]
        fn inline_integers_are_in_numeric_order(left in any::<i64>(), right in any::<i64>()) {
            let id = |number: i64| hasher().term(typed(&number.to_string(), xsd::INTEGER.as_str()).as_ref());
            prop_assert_eq!(id(left).cmp(&id(right)), left.cmp(&right));
        }

        #[test]
        fn no_bytes_make_decoding_panic(bits in any::<u128>(), bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode(TermId::from_bits(bits), &bytes);
        }
    }
}
