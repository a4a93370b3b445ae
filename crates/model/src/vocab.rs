//! The vocabularies Webloom writes, as constants, and the names it gives to graphs.

/// Graphs of crawl metadata are named by this and the page's URL.
pub const META_PREFIX: &str = "urn:webloom:meta:";

/// Graphs of inferred statements are named by this and the rules that made them.
pub const INFERRED_PREFIX: &str = "urn:webloom:inferred:";

/// True for the name of a graph that no page or person wrote: metadata and inferred statements. Such graphs are not part
/// of the default graph and their words are not searched.
pub fn is_derived_graph(name: &str) -> bool {
    name.starts_with(META_PREFIX) || name.starts_with(INFERRED_PREFIX)
}

macro_rules! vocabulary {
    ($(#[$doc:meta])* $module:ident = $base:literal { $($name:ident = $local:literal),* $(,)? }) => {
        $(#[$doc])*
        pub mod $module {
            use oxrdf::NamedNodeRef;
            /// The namespace.
            pub const NAMESPACE: &str = $base;
            $(
                #[doc = concat!("`", $base, $local, "`")]
                pub const $name: NamedNodeRef<'_> = NamedNodeRef::new_unchecked(concat!($base, $local));
            )*
        }
    };
}

vocabulary! {
    /// Our own terms, where no public vocabulary has one.
    wl = "urn:webloom:ns#" {
        DIAGNOSTIC_CLASS = "Diagnostic",
        DETECTED_TYPE = "detectedType",
        SYNTAX = "syntax",
        CHARSET = "charset",
        DEPTH = "depth",
        FOUND_ON = "foundOn",
        ANCHOR = "anchorText",
        REDIRECTED_FROM = "redirectedFrom",
        REDIRECTS_TO = "redirectsTo",
        OUTCOME = "outcome",
        REASON = "reason",
        DIAGNOSTIC = "diagnostic",
        SEVERITY = "severity",
        CODE = "code",
        LINE = "line",
        DIGEST = "sha256",
        GENERATOR = "generator",
        APPLICATION_NAME = "applicationName",
        INFERRED_FROM = "inferredFromGeneration",
        STATEMENTS = "statements",
        SOURCE_KIND = "sourceKind",
        WARC_FILE = "warcFile",
        WARC_OFFSET = "warcOffset",
        WARC_RECORD = "warcRecord",
        CAPTURE = "capture",
        CAPTURE_STATUS = "captureStatus",
        STEP = "step",
        STEP_CLASS = "TransformationStep",
        RULE = "rule",
        MICROSECONDS = "microseconds",
        FAILED = "failed",
    }
}

vocabulary! {
    /// RDF.
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" { TYPE = "type" }
}

vocabulary! {
    /// RDF Schema.
    rdfs = "http://www.w3.org/2000/01/rdf-schema#" {
        SEE_ALSO = "seeAlso",
        LABEL = "label",
        COMMENT = "comment",
        SUB_CLASS_OF = "subClassOf",
        SUB_PROPERTY_OF = "subPropertyOf",
        DOMAIN = "domain",
        RANGE = "range",
    }
}

vocabulary! {
    /// The Web Ontology Language.
    owl = "http://www.w3.org/2002/07/owl#" {
        SAME_AS = "sameAs",
        EQUIVALENT_CLASS = "equivalentClass",
        EQUIVALENT_PROPERTY = "equivalentProperty",
        INVERSE_OF = "inverseOf",
        SYMMETRIC_PROPERTY = "SymmetricProperty",
        TRANSITIVE_PROPERTY = "TransitiveProperty",
        FUNCTIONAL_PROPERTY = "FunctionalProperty",
        INVERSE_FUNCTIONAL_PROPERTY = "InverseFunctionalProperty",
    }
}

vocabulary! {
    /// Dublin Core terms.
    dcterms = "http://purl.org/dc/terms/" {
        TITLE = "title",
        DESCRIPTION = "description",
        LANGUAGE = "language",
        FORMAT = "format",
        EXTENT = "extent",
        CREATOR = "creator",
        PUBLISHER = "publisher",
        SUBJECT = "subject",
        ABSTRACT = "abstract",
        DATE = "date",
        CREATED = "created",
        ISSUED = "issued",
        MODIFIED = "modified",
        RIGHTS = "rights",
        LICENSE = "license",
        SPATIAL = "spatial",
        IDENTIFIER = "identifier",
    }
}

vocabulary! {
    /// Friend of a friend.
    foaf = "http://xmlns.com/foaf/0.1/" { DOCUMENT = "Document", DEPICTION = "depiction", MBOX = "mbox", NAME = "name", MAKER = "maker" }
}

vocabulary! {
    /// Positions on the earth.
    geo = "http://www.w3.org/2003/01/geo/wgs84_pos#" { POINT = "Point", LAT = "lat", LONG = "long" }
}

vocabulary! {
    /// Provenance.
    prov = "http://www.w3.org/ns/prov#" { GENERATED_AT_TIME = "generatedAtTime" }
}

vocabulary! {
    /// HTTP in RDF.
    http = "http://www.w3.org/2011/http#" { STATUS_CODE = "statusCodeNumber" }
}

vocabulary! {
    /// XHTML's link relations, for `rel` values.
    xhv = "http://www.w3.org/1999/xhtml/vocab#" {
        LICENSE = "license",
        NEXT = "next",
        ALTERNATE = "alternate",
        CANONICAL = "canonical",
        DESCRIBEDBY = "describedby",
        META = "meta",
    }
}

vocabulary! {
    /// Datatypes.
    xsd = "http://www.w3.org/2001/XMLSchema#" {
        INTEGER = "integer",
        DATE_TIME = "dateTime",
        BOOLEAN = "boolean",
        DECIMAL = "decimal",
        STRING = "string",
    }
}
