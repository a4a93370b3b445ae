//! What can be wrong with a JSON-LD document: the specification's error codes, and what we add for limits.

use std::fmt;
use std::sync::Arc;

use super::json::{Document, Value};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $diagnostic:literal;)*) => {
        /// An error code of the JSON-LD 1.1 Processing Algorithms and API, section 9.7.3, or one of our own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* #[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl ErrorCode {
            /// The specification's name for it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The name of the diagnostic it becomes.
            pub(super) fn diagnostic(self) -> &'static str {
                match self {
                    $(Self::$variant => $diagnostic,)*
                }
            }
        }
    };
}

codes! {
    CollidingKeywords = "colliding keywords", "json-ld-colliding-keywords";
    ConflictingIndexes = "conflicting indexes", "json-ld-conflicting-indexes";
    ContextOverflow = "context overflow", "json-ld-context";
    CyclicIriMapping = "cyclic IRI mapping", "json-ld-cyclic-iri-mapping";
    InvalidIdValue = "invalid @id value", "json-ld-invalid-id-value";
    InvalidImportValue = "invalid @import value", "json-ld-invalid-import-value";
    InvalidIncludedValue = "invalid @included value", "json-ld-invalid-included-value";
    InvalidIndexValue = "invalid @index value", "json-ld-invalid-index-value";
    InvalidNestValue = "invalid @nest value", "json-ld-invalid-nest-value";
    InvalidPrefixValue = "invalid @prefix value", "json-ld-invalid-prefix-value";
    InvalidPropagateValue = "invalid @propagate value", "json-ld-invalid-propagate-value";
    InvalidProtectedValue = "invalid @protected value", "json-ld-invalid-protected-value";
    InvalidReverseValue = "invalid @reverse value", "json-ld-invalid-reverse-value";
    InvalidVersionValue = "invalid @version value", "json-ld-invalid-version-value";
    InvalidBaseDirection = "invalid base direction", "json-ld-invalid-base-direction";
    InvalidBaseIri = "invalid base IRI", "json-ld-invalid-base-iri";
    InvalidContainerMapping = "invalid container mapping", "json-ld-invalid-container-mapping";
    InvalidContextEntry = "invalid context entry", "json-ld-invalid-context-entry";
    InvalidContextNullification = "invalid context nullification", "json-ld-invalid-context-nullification";
    InvalidDefaultLanguage = "invalid default language", "json-ld-invalid-default-language";
    InvalidIriMapping = "invalid IRI mapping", "json-ld-invalid-iri-mapping";
    InvalidKeywordAlias = "invalid keyword alias", "json-ld-invalid-keyword-alias";
    InvalidLanguageMapValue = "invalid language map value", "json-ld-invalid-language-map-value";
    InvalidLanguageMapping = "invalid language mapping", "json-ld-invalid-language-mapping";
    InvalidLanguageTaggedString = "invalid language-tagged string", "json-ld-invalid-language-tagged-string";
    InvalidLanguageTaggedValue = "invalid language-tagged value", "json-ld-invalid-language-tagged-value";
    InvalidLocalContext = "invalid local context", "json-ld-invalid-local-context";
    InvalidRemoteContext = "invalid remote context", "json-ld-context";
    InvalidReverseProperty = "invalid reverse property", "json-ld-invalid-reverse-property";
    InvalidReversePropertyMap = "invalid reverse property map", "json-ld-invalid-reverse-property-map";
    InvalidReversePropertyValue = "invalid reverse property value", "json-ld-invalid-reverse-property-value";
    InvalidScopedContext = "invalid scoped context", "json-ld-invalid-scoped-context";
    InvalidSetOrListObject = "invalid set or list object", "json-ld-invalid-set-or-list-object";
    InvalidTermDefinition = "invalid term definition", "json-ld-invalid-term-definition";
    InvalidTypeMapping = "invalid type mapping", "json-ld-invalid-type-mapping";
    InvalidTypeValue = "invalid type value", "json-ld-invalid-type-value";
    InvalidTypedValue = "invalid typed value", "json-ld-invalid-typed-value";
    InvalidValueObject = "invalid value object", "json-ld-invalid-value-object";
    InvalidValueObjectValue = "invalid value object value", "json-ld-invalid-value-object-value";
    InvalidVocabMapping = "invalid vocab mapping", "json-ld-invalid-vocab-mapping";
    KeywordRedefinition = "keyword redefinition", "json-ld-keyword-redefinition";
    ListOfLists = "list of lists", "json-ld-list-of-lists";
    LoadingDocumentFailed = "loading document failed", "json-ld-syntax";
    LoadingRemoteContextFailed = "loading remote context failed", "json-ld-context";
    ProcessingModeConflict = "processing mode conflict", "json-ld-processing-mode-conflict";
    ProtectedTermRedefinition = "protected term redefinition", "json-ld-protected-term-redefinition";
    RecursiveContextInclusion = "recursive context inclusion", "json-ld-context";
    /// Ours: the time for the page is over.
    Cut = "cut", "json-ld-cut";
    /// Ours: a limit on work or memory was met.
    TooCostly = "too costly", "json-ld-too-costly";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something wrong, with its place where that is in the document itself and not in a context from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: ErrorCode,
    /// A sentence that names the thing.
    pub(super) detail: String,
    /// The document's address in memory, which is only compared, and the place in its text.
    place: Option<(usize, u32)>,
}

/// Boxed, because it is rare and results are everywhere.
pub(super) type Result<T> = std::result::Result<T, Box<Problem>>;

impl Problem {
    pub(super) fn new(code: ErrorCode, detail: impl Into<String>) -> Box<Self> {
        Box::new(Self { code, detail: detail.into(), place: None })
    }

    /// A problem with a value.
    pub(super) fn at(code: ErrorCode, value: Value<'_>, detail: impl Into<String>) -> Box<Self> {
        let place = Some((Arc::as_ptr(value.document()) as usize, value.position()));
        Box::new(Self { code, detail: detail.into(), place })
    }

    /// The same problem, with the place of a value unless it has one already.
    pub(super) fn near(mut self: Box<Self>, value: Value<'_>) -> Box<Self> {
        self.place.get_or_insert((Arc::as_ptr(value.document()) as usize, value.position()));
        self
    }

    /// The place in that document's text, if it is there.
    pub(super) fn position_in(&self, document: &Arc<Document>) -> Option<u32> {
        self.place
            .filter(|(address, _)| *address == Arc::as_ptr(document) as usize)
            .map(|(_, position)| position)
    }

    /// True when nothing can go on after it.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.code, ErrorCode::Cut | ErrorCode::TooCostly)
    }
}

/// At most this much of a text is quoted in a message.
const QUOTED_CHARACTERS: usize = 60;

/// A text from a page, as it can be part of a message.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED_CHARACTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("`{}`", short.replace(char::is_control, " "))
}
