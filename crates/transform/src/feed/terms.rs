//! The terms feeds are written in. RSS 1.0 and its modules first; where they have no term, Dublin Core, FOAF and
//! schema.org. The table of `docs/feeds.md` says which element becomes which.

use oxrdf::NamedNodeRef;

macro_rules! terms {
    ($($name:ident = $iri:literal;)*) => {
        $(pub(super) const $name: NamedNodeRef<'_> = NamedNodeRef::new_unchecked($iri);)*
    };
}

terms! {
    RDF_SEQ = "http://www.w3.org/1999/02/22-rdf-syntax-ns#Seq";
    RDF_HTML = "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML";

    RSS_CHANNEL = "http://purl.org/rss/1.0/channel";
    RSS_ITEM = "http://purl.org/rss/1.0/item";
    RSS_ITEMS = "http://purl.org/rss/1.0/items";
    RSS_TITLE = "http://purl.org/rss/1.0/title";
    RSS_LINK = "http://purl.org/rss/1.0/link";
    RSS_DESCRIPTION = "http://purl.org/rss/1.0/description";
    RSS_IMAGE = "http://purl.org/rss/1.0/image";
    RSS_URL = "http://purl.org/rss/1.0/url";
    RSS_NAME = "http://purl.org/rss/1.0/name";
    RSS_TEXTINPUT = "http://purl.org/rss/1.0/textinput";
    CONTENT_ENCODED = "http://purl.org/rss/1.0/modules/content/encoded";
    SLASH_COMMENTS = "http://purl.org/rss/1.0/modules/slash/comments";
    WFW_COMMENT_RSS = "http://wellformedweb.org/CommentAPI/commentRss";
    ADMIN_GENERATOR_AGENT = "http://webns.net/mvcb/generatorAgent";

    DC_CREATOR = "http://purl.org/dc/elements/1.1/creator";
    DC_CONTRIBUTOR = "http://purl.org/dc/elements/1.1/contributor";
    DC_PUBLISHER = "http://purl.org/dc/elements/1.1/publisher";
    DC_SUBJECT = "http://purl.org/dc/elements/1.1/subject";
    DC_DATE = "http://purl.org/dc/elements/1.1/date";
    DC_RIGHTS = "http://purl.org/dc/elements/1.1/rights";
    DC_LANGUAGE = "http://purl.org/dc/elements/1.1/language";

    DCTERMS_CREATOR = "http://purl.org/dc/terms/creator";
    DCTERMS_CONTRIBUTOR = "http://purl.org/dc/terms/contributor";
    DCTERMS_PUBLISHER = "http://purl.org/dc/terms/publisher";
    DCTERMS_SUBJECT = "http://purl.org/dc/terms/subject";
    DCTERMS_IDENTIFIER = "http://purl.org/dc/terms/identifier";
    DCTERMS_ISSUED = "http://purl.org/dc/terms/issued";
    DCTERMS_MODIFIED = "http://purl.org/dc/terms/modified";
    DCTERMS_CREATED = "http://purl.org/dc/terms/created";
    DCTERMS_LICENSE = "http://purl.org/dc/terms/license";
    DCTERMS_SOURCE = "http://purl.org/dc/terms/source";
    DCTERMS_CONFORMS_TO = "http://purl.org/dc/terms/conformsTo";
    DCTERMS_IS_REPLACED_BY = "http://purl.org/dc/terms/isReplacedBy";
    DCTERMS_HAS_PART = "http://purl.org/dc/terms/hasPart";

    FOAF_AGENT = "http://xmlns.com/foaf/0.1/Agent";
    FOAF_HOMEPAGE = "http://xmlns.com/foaf/0.1/homepage";
    FOAF_LOGO = "http://xmlns.com/foaf/0.1/logo";
    FOAF_IMG = "http://xmlns.com/foaf/0.1/img";

    SKOS_CONCEPT = "http://www.w3.org/2004/02/skos/core#Concept";
    SKOS_NOTATION = "http://www.w3.org/2004/02/skos/core#notation";
    SKOS_PREF_LABEL = "http://www.w3.org/2004/02/skos/core#prefLabel";
    SKOS_IN_SCHEME = "http://www.w3.org/2004/02/skos/core#inScheme";

    SIOC_REPLY_OF = "http://rdfs.org/sioc/ns#reply_of";

    GEO_POINT = "http://www.w3.org/2003/01/geo/wgs84_pos#Point";
    GEO_LOCATION = "http://www.w3.org/2003/01/geo/wgs84_pos#location";
    GEO_LAT = "http://www.w3.org/2003/01/geo/wgs84_pos#lat";
    GEO_LONG = "http://www.w3.org/2003/01/geo/wgs84_pos#long";

    SCHEMA_ALTERNATIVE_HEADLINE = "http://schema.org/alternativeHeadline";
    SCHEMA_EXPIRES = "http://schema.org/expires";
    SCHEMA_VALID_FROM = "http://schema.org/validFrom";
    SCHEMA_VALID_THROUGH = "http://schema.org/validThrough";
    SCHEMA_DISCUSSION_URL = "http://schema.org/discussionUrl";
    SCHEMA_CONTENT_RATING = "http://schema.org/contentRating";
    SCHEMA_SOFTWARE_VERSION = "http://schema.org/softwareVersion";
    SCHEMA_IS_FAMILY_FRIENDLY = "http://schema.org/isFamilyFriendly";
    SCHEMA_EPISODE_NUMBER = "http://schema.org/episodeNumber";
    SCHEMA_PART_OF_SEASON = "http://schema.org/partOfSeason";
    SCHEMA_SEASON = "http://schema.org/CreativeWorkSeason";
    SCHEMA_SEASON_NUMBER = "http://schema.org/seasonNumber";
    SCHEMA_ASSOCIATED_MEDIA = "http://schema.org/associatedMedia";
    SCHEMA_MEDIA_OBJECT = "http://schema.org/MediaObject";
    SCHEMA_AUDIO_OBJECT = "http://schema.org/AudioObject";
    SCHEMA_VIDEO_OBJECT = "http://schema.org/VideoObject";
    SCHEMA_IMAGE_OBJECT = "http://schema.org/ImageObject";
    SCHEMA_ENCODING_FORMAT = "http://schema.org/encodingFormat";
    SCHEMA_CONTENT_SIZE = "http://schema.org/contentSize";
    SCHEMA_DURATION = "http://schema.org/duration";
    SCHEMA_WIDTH = "http://schema.org/width";
    SCHEMA_HEIGHT = "http://schema.org/height";
    SCHEMA_NAME = "http://schema.org/name";
    SCHEMA_DESCRIPTION = "http://schema.org/description";
    SCHEMA_THUMBNAIL_URL = "http://schema.org/thumbnailUrl";
    SCHEMA_EMBED_URL = "http://schema.org/embedUrl";
    SCHEMA_UPLOAD_DATE = "http://schema.org/uploadDate";
    SCHEMA_TRANSCRIPT = "http://schema.org/transcript";

    XHV_ALTERNATE = "http://www.w3.org/1999/xhtml/vocab#alternate";
    XHV_ICON = "http://www.w3.org/1999/xhtml/vocab#icon";
    XHV_PAYMENT = "http://www.w3.org/1999/xhtml/vocab#payment";

    WL_TTL = "urn:webloom:ns#ttl";
    WL_ITUNES_BLOCK = "urn:webloom:ns#itunesBlock";
    WL_EPISODE_TYPE = "urn:webloom:ns#episodeType";
    WL_OUTLINE = "urn:webloom:ns#Outline";
    WL_SITEMAP = "urn:webloom:ns#Sitemap";
    WL_SITEMAP_INDEX = "urn:webloom:ns#SitemapIndex";
    WL_PRIORITY = "urn:webloom:ns#priority";
    WL_CHANGE_FREQUENCY = "urn:webloom:ns#changeFrequency";

    XSD_BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean";
    XSD_DATE = "http://www.w3.org/2001/XMLSchema#date";
    XSD_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime";
    XSD_DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal";
    XSD_DURATION = "http://www.w3.org/2001/XMLSchema#duration";
    XSD_G_YEAR = "http://www.w3.org/2001/XMLSchema#gYear";
    XSD_G_YEAR_MONTH = "http://www.w3.org/2001/XMLSchema#gYearMonth";
}

/// Relations of Atom that are no IRI and not among XHTML's continue this, as RFC 4287 says.
pub(super) const IANA_RELATIONS: &str = "http://www.iana.org/assignments/relation/";
/// GeoRSS's own properties, for shapes that are no point.
pub(super) const GEORSS: &str = "http://www.georss.org/georss/";
/// RSS 1.0's module on how often a feed changes.
pub(super) const SYNDICATION: &str = "http://purl.org/rss/1.0/modules/syndication/";
