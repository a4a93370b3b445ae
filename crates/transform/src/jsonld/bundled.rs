//! Contexts that come with us, so that no page makes anybody fetch them.
//!
//! In: the IRI of a context, in any of the spellings pages use. Out: the text of the context document. The documents
//! are resource files of ours in `src/contexts`: the terms of published contexts, derived by
//! `examples/context_terms.rs`. schema.org's is not among them; it is so large that it is built for every block, from a
//! table, in [`super::contexts`].

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::LazyLock;

/// Names of a context, without scheme, `www.`, last slash and extension, and its document.
type Bundle = (&'static [&'static str], &'static str);

macro_rules! context {
    ($file:literal) => {
        include_str!(concat!("../contexts/", $file, ".jsonld"))
    };
}

const BUNDLES: &[Bundle] = &[
    (&["w3.org/ns/activitystreams", "w3.org/ns/activitystreams-context"], context!("activitystreams")),
    (&["w3id.org/security/v1", "web-payments.org/contexts/security-v1"], context!("security_v1")),
    (&["w3id.org/security/v2", "web-payments.org/contexts/security-v2"], context!("security_v2")),
    (&["w3id.org/identity/v1", "web-payments.org/contexts/identity-v1"], context!("identity_v1")),
    (&["w3id.org/security/data-integrity/v1"], context!("data_integrity_v1")),
    (&["w3id.org/security/data-integrity/v2"], context!("data_integrity_v2")),
    (&["w3id.org/security/multikey/v1"], context!("multikey_v1")),
    (&["w3id.org/security/jwk/v1"], context!("jwk_v1")),
    (&["w3.org/ns/did/v1", "w3id.org/did/v1"], context!("did_v1")),
    (&["w3.org/2018/credentials/v1"], context!("credentials_v1")),
    (&["w3.org/ns/credentials/v2"], context!("credentials_v2")),
    (&["w3.org/ns/anno"], context!("anno")),
    (
        &["w3.org/ns/hydra/core", "w3.org/ns/hydra/context", "hydra-cg.com/spec/latest/core/core"],
        context!("hydra"),
    ),
    (&["w3.org/ns/csvw"], context!("csvw")),
    (&["w3.org/ns/odrl", "w3.org/ns/odrl/2"], context!("odrl")),
    (&["geojson.org/geojson-ld/geojson-context", "geojson.org/contexts/geojson-base"], context!("geojson")),
    (
        &["iiif.io/api/presentation/1/context", "shared-canvas.org/ns/context"],
        context!("iiif_presentation_1"),
    ),
    (&["iiif.io/api/presentation/2/context"], context!("iiif_presentation_2")),
    (&["iiif.io/api/presentation/3/context"], context!("iiif_presentation_3")),
    (
        &["iiif.io/api/image/1/context", "library.stanford.edu/iiif/image-api/1.1/context"],
        context!("iiif_image_1"),
    ),
    (&["iiif.io/api/image/2/context"], context!("iiif_image_2")),
    (&["iiif.io/api/image/3/context"], context!("iiif_image_3")),
    (&["iiif.io/api/search/0/context", "iiif.io/api/search/1/context"], context!("iiif_search_1")),
    (&["iiif.io/api/search/2/context"], context!("iiif_search_2")),
    (&["iiif.io/api/auth/0/context", "iiif.io/api/auth/1/context"], context!("iiif_auth_1")),
    (&["iiif.io/api/auth/2/context"], context!("iiif_auth_2")),
    (&["iiif.io/api/discovery/1/context"], context!("iiif_discovery_1")),
    (&["iiif.io/api/registry/selectors/context"], context!("iiif_selectors")),
    (&["iiif.io/api/extension/navplace/context"], context!("iiif_navplace")),
    (&["iiif.io/api/extension/text-granularity/context"], context!("iiif_text_granularity")),
    (&["iiif.io/api/extension/georef/1/context"], context!("iiif_georef_1")),
    (&["w3.org/2019/wot/td/v1", "w3.org/2022/wot/td/v1.1"], context!("wot_td_v1")),
    (
        &["doi.org/10.5063/schema/codemeta-1.0", "raw.githubusercontent.com/codemeta/codemeta/1.0/codemeta"],
        context!("codemeta_1_0"),
    ),
    (
        &[
            "doi.org/10.5063/schema/codemeta-2.0",
            "dx.doi.org/10.5063/schema/codemeta-2.0",
            "w3id.org/codemeta/2.0",
            "raw.githubusercontent.com/codemeta/codemeta/2.0/codemeta",
            "raw.githubusercontent.com/codemeta/codemeta/2.0-rc/codemeta",
        ],
        context!("codemeta_2_0"),
    ),
    (
        &[
            "w3id.org/codemeta",
            "w3id.org/codemeta/3.0",
            "w3id.org/codemeta/3.1",
            "w3id.org/codemeta/v3.0",
            "w3id.org/codemeta/v3.1",
            "doi.org/10.5063/schema/codemeta-3.0",
            "raw.githubusercontent.com/codemeta/codemeta/3.0/codemeta",
            "raw.githubusercontent.com/codemeta/codemeta/3.1/codemeta",
            "raw.githubusercontent.com/codemeta/codemeta/master/codemeta",
        ],
        context!("codemeta_3_0"),
    ),
    (&["w3id.org/openbadges/legacy-v1"], context!("openbadges_legacy_v1")),
    (&["w3id.org/openbadges/v1", "openbadgespec.org/v1/context"], context!("openbadges_v1")),
    (&["w3id.org/openbadges/v2", "openbadgespec.org/v2/context"], context!("openbadges_v2")),
    (
        &[
            "purl.imsglobal.org/spec/ob/v3p0/context",
            "purl.imsglobal.org/spec/ob/v3p0/context-3.0.1",
            "purl.imsglobal.org/spec/ob/v3p0/context-3.0.2",
            "purl.imsglobal.org/spec/ob/v3p0/context-3.0.3",
        ],
        context!("openbadges_v3"),
    ),
    (&["project-open-data.cio.gov/v1.1/schema/catalog"], context!("open_data_catalog")),
    (&["json-ld.org/contexts/person"], context!("json_ld_person")),
    (&["json-ld.org/contexts/event"], context!("json_ld_event")),
    (&["json-ld.org/contexts/place"], context!("json_ld_place")),
    (&["json-ld.org/contexts/recipe"], context!("json_ld_recipe")),
    (&["json-ld.org/contexts/convenience"], context!("json_ld_convenience")),
];

/// Names of RO-Crate's context and the release they stand for. Its releases share a table.
const RO_CRATES: &[(&str, &str)] = &[
    ("w3id.org/ro/crate/1.0/context", "1.0"),
    ("w3id.org/ro/crate/1.1/context", "1.1"),
    ("w3id.org/ro/crate/1.1-draft/context", "1.1"),
    ("w3id.org/ro/crate/1.2/context", "1.2"),
    ("w3id.org/ro/crate/1.2-draft/context", "1.2"),
    ("w3id.org/ro/crate/1.3/context", "1.3"),
];

const RO_CRATE_TABLE: &str = include_str!("../contexts/ro_crate.txt");

/// Longest name in the tables.
const NAME_BYTES_MAX: usize = 80;

static BY_NAME: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    BUNDLES.iter().flat_map(|(names, document)| names.iter().map(|name| (*name, *document))).collect()
});

static RO_CRATE_DOCUMENTS: LazyLock<HashMap<&'static str, String>> =
    LazyLock::new(|| RO_CRATES.iter().map(|(_, release)| (*release, ro_crate(release))).collect());

/// The context document at an IRI, if it comes with us.
pub(crate) fn bundled(iri: &str) -> Option<&'static str> {
    let name = name_of(iri)?;
    if let Some(document) = BY_NAME.get(name.as_str()) {
        return Some(document);
    }
    let (_, release) = RO_CRATES.iter().find(|(known, _)| *known == name)?;
    RO_CRATE_DOCUMENTS.get(release).map(String::as_str)
}

/// The part of an IRI that tells contexts apart: no scheme, `www.`, fragment, last slash or extension.
fn name_of(iri: &str) -> Option<String> {
    let rest = iri.strip_prefix("https://").or_else(|| iri.strip_prefix("http://"))?;
    let rest = rest.split('#').next().unwrap_or_default();
    let rest = rest.trim_end_matches('/');
    let rest = rest.strip_suffix(".jsonld").or_else(|| rest.strip_suffix(".json")).unwrap_or(rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    // Letters of either case lead to the same context on all these servers, or nowhere.
    (rest.len() <= NAME_BYTES_MAX).then(|| rest.to_ascii_lowercase())
}

/// Builds the context of one release of RO-Crate.
fn ro_crate(release: &str) -> String {
    let mut document = String::from("{\"@context\":{");
    let lines = RO_CRATE_TABLE.lines().filter(|line| !line.starts_with('#'));
    let mut comma = "";
    for line in lines {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_default();
        let (term, iri, releases) = (field(), field(), field());
        if !releases.is_empty() && !releases.split(' ').any(|known| known == release) {
            continue;
        }
        // Neither terms nor IRIs in the table hold anything that JSON would want escaped.
        let _ = match iri {
            "" => write!(document, "{comma}\n\"{term}\":\"http://schema.org/{term}\""),
            iri => write!(document, "{comma}\n\"{term}\":\"{iri}\""),
        };
        comma = ",";
    }
    document.push_str("\n}}\n");
    document
}

#[cfg(test)]
mod tests {
    use oxrdf::Quad;
    use serde_json::Value;

    use super::*;
    use crate::TransformConfig;
    use crate::jsonld::{JsonLdError, JsonLdOptions, to_rdf};

    fn read(block: &str) -> Result<Vec<Quad>, JsonLdError> {
        to_rdf("https://example.org/", block, &JsonLdOptions::default(), &TransformConfig::default())
    }

    fn every_name() -> impl Iterator<Item = &'static str> {
        let ro_crates = RO_CRATES.iter().map(|(name, _)| *name);
        BUNDLES.iter().flat_map(|(names, _)| names.iter().copied()).chain(ro_crates)
    }

    #[test]
    fn names_are_as_they_are_looked_up() {
        let mut seen = std::collections::HashSet::new();
        for name in every_name() {
            assert_eq!(name_of(&format!("https://{name}")).as_deref(), Some(name));
            assert!(seen.insert(name), "{name} twice");
        }
    }

    #[test]
    fn spellings_lead_to_the_same_context() {
        let anno = bundled("http://www.w3.org/ns/anno.jsonld").unwrap();
        for spelling in [
            "https://www.w3.org/ns/anno.jsonld",
            "https://w3.org/ns/anno",
            "https://www.w3.org/ns/anno/",
            "https://www.w3.org/ns/anno.jsonld#",
            "https://www.w3.org/ns/ANNO.jsonld",
        ] {
            assert_eq!(bundled(spelling), Some(anno), "{spelling}");
        }
        for stranger in [
            "",
            "anno",
            "ftp://www.w3.org/ns/anno",
            "https://example.org/ns/anno",
            "https://www.w3.org/ns/anno.jsonld?x",
        ] {
            assert_eq!(bundled(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn all_of_them_together_are_small() {
        let bytes: usize = BUNDLES.iter().map(|(_, document)| document.len()).sum();
        assert!(bytes + RO_CRATE_TABLE.len() < 300_000, "{bytes} and {}", RO_CRATE_TABLE.len());
    }

    /// Every context is one: a JSON-LD processor takes it, and it refers only to others that come with us.
    #[test]
    fn every_context_can_be_used() {
        for name in every_name() {
            let iri = format!("https://{name}");
            let document: Value = serde_json::from_str(bundled(&iri).unwrap()).unwrap();
            assert!(document["@context"].is_object() || document["@context"].is_array(), "{name}");
            let block = format!(r#"{{"@context":["{iri}",{{"p":"urn:p"}}],"p":"x"}}"#);
            let quads = read(&block);
            assert_eq!(quads.as_ref().map(Vec::len).ok(), Some(1), "{name}: {quads:?}");
        }
    }

    /// What a term means in a context.
    fn predicate(context: &str, term: &str) -> Option<String> {
        let block = format!(r#"{{"@context":"{context}","{term}":"https://example.org/x"}}"#);
        let quads = read(&block).ok()?;
        quads.last().map(|quad| format!("{} {}", quad.predicate, quad.object))
    }

    #[test]
    fn terms_mean_what_they_mean() {
        let iri = "<https://example.org/x>";
        for (context, term, expected) in [
            (
                "https://www.w3.org/ns/activitystreams",
                "inReplyTo",
                format!("<https://www.w3.org/ns/activitystreams#inReplyTo> {iri}"),
            ),
            (
                "https://w3id.org/security/v1",
                "publicKey",
                format!("<https://w3id.org/security#publicKey> {iri}"),
            ),
            (
                "https://w3id.org/security/v2",
                "controller",
                format!("<https://w3id.org/security#controller> {iri}"),
            ),
            (
                "https://www.w3.org/ns/did/v1",
                "alsoKnownAs",
                format!("<https://www.w3.org/ns/activitystreams#alsoKnownAs> {iri}"),
            ),
            (
                "http://www.w3.org/ns/anno.jsonld",
                "target",
                format!("<http://www.w3.org/ns/oa#hasTarget> {iri}"),
            ),
            (
                "http://www.w3.org/ns/hydra/context.jsonld",
                "member",
                format!("<http://www.w3.org/ns/hydra/core#member> {iri}"),
            ),
            (
                "https://w3id.org/ro/crate/1.1/context",
                "hasPart",
                "<http://schema.org/hasPart> \"https://example.org/x\"".to_owned(),
            ),
            (
                "https://w3id.org/ro/crate/1.0/context",
                "cite-as",
                "<https://www.w3.org/ns/iana/link-relations/relation#cite-as> \"https://example.org/x\""
                    .to_owned(),
            ),
            (
                "https://w3id.org/ro/crate/1.2/context",
                "cite-as",
                "<http://www.iana.org/assignments/relation/cite-as> \"https://example.org/x\"".to_owned(),
            ),
            (
                "https://doi.org/10.5063/schema/codemeta-2.0",
                "codeRepository",
                format!("<http://schema.org/codeRepository> {iri}"),
            ),
            (
                "http://iiif.io/api/presentation/2/context.json",
                "thumbnail",
                format!("<http://xmlns.com/foaf/0.1/thumbnail> {iri}"),
            ),
            (
                "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld",
                "landingPage",
                "<http://www.w3.org/ns/dcat#landingPage> \"https://example.org/x\"".to_owned(),
            ),
            (
                "https://json-ld.org/contexts/person.jsonld",
                "homepage",
                format!("<http://xmlns.com/foaf/0.1/homepage> {iri}"),
            ),
            ("https://w3id.org/openbadges/v2", "badge", format!("<https://w3id.org/openbadges#badge> {iri}")),
        ] {
            assert_eq!(predicate(context, term).as_deref(), Some(expected.as_str()), "{context} {term}");
        }
    }
}
