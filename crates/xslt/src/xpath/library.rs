//! The functions by name: what they are called, how many arguments they take and what they give.

use super::ast::{DateFunction, Extension, Function, Type};

const EXSL: &str = "http://exslt.org/common";
const STRINGS: &str = "http://exslt.org/strings";
const MATH: &str = "http://exslt.org/math";
const SETS: &str = "http://exslt.org/sets";
const REGULAR: &str = "http://exslt.org/regular-expressions";
const DYNAMIC: &str = "http://exslt.org/dynamic";
const DATES: &str = "http://exslt.org/dates-and-times";
/// The namespaces under which other processors have `node-set()`.
const NODE_SETS: &[&str] = &[
    "urn:schemas-microsoft-com:xslt",
    "http://xml.apache.org/xalan",
    "http://xml.apache.org/xslt",
    "http://xmlns.apache.org/xalan",
    "org.apache.xalan.lib.Extensions",
    "http://icl.com/saxon",
    "http://saxon.sf.net/",
    "http://www.jclark.com/xt",
];

/// Finds a function: itself, and the least and most arguments it takes.
pub(crate) fn find(namespace: &str, local: &str) -> Option<(Function, usize, usize)> {
    use DateFunction as D;
    use Extension as E;
    const MANY: usize = usize::MAX;
    if namespace.is_empty() {
        return Some(match local {
            "last" => (Function::Last, 0, 0),
            "position" => (Function::Position, 0, 0),
            "count" => (Function::Count, 1, 1),
            "id" => (Function::Id, 1, 1),
            "local-name" => (Function::LocalName, 0, 1),
            "namespace-uri" => (Function::NamespaceUri, 0, 1),
            "name" => (Function::Name, 0, 1),
            "string" => (Function::String, 0, 1),
            "concat" => (Function::Concat, 2, MANY),
            "starts-with" => (Function::StartsWith, 2, 2),
            "contains" => (Function::Contains, 2, 2),
            "substring-before" => (Function::SubstringBefore, 2, 2),
            "substring-after" => (Function::SubstringAfter, 2, 2),
            "substring" => (Function::Substring, 2, 3),
            "string-length" => (Function::StringLength, 0, 1),
            "normalize-space" => (Function::NormalizeSpace, 0, 1),
            "translate" => (Function::Translate, 3, 3),
            "boolean" => (Function::Boolean, 1, 1),
            "not" => (Function::Not, 1, 1),
            "true" => (Function::True, 0, 0),
            "false" => (Function::False, 0, 0),
            "lang" => (Function::Lang, 1, 1),
            "number" => (Function::Number, 0, 1),
            "sum" => (Function::Sum, 1, 1),
            "floor" => (Function::Floor, 1, 1),
            "ceiling" => (Function::Ceiling, 1, 1),
            "round" => (Function::Round, 1, 1),
            "document" => (Function::Document, 1, 2),
            "key" => (Function::Key, 2, 2),
            "format-number" => (Function::FormatNumber, 2, 3),
            "current" => (Function::Current, 0, 0),
            "unparsed-entity-uri" => (Function::UnparsedEntityUri, 1, 1),
            "generate-id" => (Function::GenerateId, 0, 1),
            "system-property" => (Function::SystemProperty, 1, 1),
            "element-available" => (Function::ElementAvailable, 1, 1),
            "function-available" => (Function::FunctionAvailable, 1, 1),
            _ => return None,
        });
    }
    let (extension, least, most) = match (namespace, local) {
        (EXSL, "node-set") => (E::NodeSet, 1, 1),
        (EXSL, "object-type") => (E::ObjectType, 1, 1),
        (other, "node-set" | "nodeset" | "nodeSet") if NODE_SETS.contains(&other) => (E::NodeSet, 1, 1),
        (STRINGS, "tokenize") => (E::Tokenize, 1, 2),
        (STRINGS, "split") => (E::Split, 1, 2),
        (STRINGS, "replace") => (E::Replace, 3, 3),
        (STRINGS, "padding") => (E::Padding, 1, 2),
        (STRINGS, "align") => (E::Align, 2, 3),
        (STRINGS, "concat") => (E::ConcatNodes, 1, 1),
        (STRINGS, "encode-uri") => (E::EncodeUri, 2, 3),
        (STRINGS, "decode-uri") => (E::DecodeUri, 1, 2),
        (MATH, "min") => (E::Minimum, 1, 1),
        (MATH, "max") => (E::Maximum, 1, 1),
        (MATH, "highest") => (E::Highest, 1, 1),
        (MATH, "lowest") => (E::Lowest, 1, 1),
        (MATH, "abs") => (E::Absolute, 1, 1),
        (MATH, "sqrt") => (E::SquareRoot, 1, 1),
        (MATH, "power") => (E::Power, 2, 2),
        (MATH, "constant") => (E::Constant, 2, 2),
        (MATH, "log") => (E::Logarithm, 1, 1),
        (MATH, "exp") => (E::Exponential, 1, 1),
        (MATH, "sin") => (E::Sine, 1, 1),
        (MATH, "cos") => (E::Cosine, 1, 1),
        (MATH, "tan") => (E::Tangent, 1, 1),
        (MATH, "asin") => (E::ArcSine, 1, 1),
        (MATH, "acos") => (E::ArcCosine, 1, 1),
        (MATH, "atan") => (E::ArcTangent, 1, 1),
        (MATH, "atan2") => (E::ArcTangent2, 2, 2),
        (MATH, "random") => (E::Random, 0, 0),
        (SETS, "difference") => (E::Difference, 2, 2),
        (SETS, "intersection") => (E::Intersection, 2, 2),
        (SETS, "distinct") => (E::Distinct, 1, 1),
        (SETS, "has-same-node") => (E::HasSameNode, 2, 2),
        (SETS, "leading") => (E::Leading, 2, 2),
        (SETS, "trailing") => (E::Trailing, 2, 2),
        (REGULAR, "test") => (E::RegexTest, 2, 3),
        (REGULAR, "match") => (E::RegexMatch, 2, 3),
        (REGULAR, "replace") => (E::RegexReplace, 4, 4),
        (DYNAMIC, "evaluate") => (E::Evaluate, 1, 1),
        ("http://icl.com/saxon" | "http://saxon.sf.net/" | "http://xml.apache.org/xalan", "evaluate") => {
            (E::Evaluate, 1, 1)
        }
        ("http://xml.apache.org/xalan", "distinct") => (E::Distinct, 1, 1),
        ("http://xml.apache.org/xalan", "tokenize") => (E::Tokenize, 1, 2),
        ("http://xml.apache.org/xalan", "difference") => (E::Difference, 2, 2),
        ("http://xml.apache.org/xalan", "intersection") => (E::Intersection, 2, 2),
        (DATES, "date-time") => (E::Date(D::DateTime), 0, 0),
        (DATES, "date") => (E::Date(D::Date), 0, 1),
        (DATES, "time") => (E::Date(D::Time), 0, 1),
        (DATES, "year") => (E::Date(D::Year), 0, 1),
        (DATES, "leap-year") => (E::Date(D::LeapYear), 0, 1),
        (DATES, "month-in-year") => (E::Date(D::MonthInYear), 0, 1),
        (DATES, "month-name") => (E::Date(D::MonthName), 0, 1),
        (DATES, "month-abbreviation") => (E::Date(D::MonthAbbreviation), 0, 1),
        (DATES, "week-in-year") => (E::Date(D::WeekInYear), 0, 1),
        (DATES, "week-in-month") => (E::Date(D::WeekInMonth), 0, 1),
        (DATES, "day-in-year") => (E::Date(D::DayInYear), 0, 1),
        (DATES, "day-in-month") => (E::Date(D::DayInMonth), 0, 1),
        (DATES, "day-of-week-in-month") => (E::Date(D::DayOfWeekInMonth), 0, 1),
        (DATES, "day-in-week") => (E::Date(D::DayInWeek), 0, 1),
        (DATES, "day-name") => (E::Date(D::DayName), 0, 1),
        (DATES, "day-abbreviation") => (E::Date(D::DayAbbreviation), 0, 1),
        (DATES, "hour-in-day") => (E::Date(D::HourInDay), 0, 1),
        (DATES, "minute-in-hour") => (E::Date(D::MinuteInHour), 0, 1),
        (DATES, "second-in-minute") => (E::Date(D::SecondInMinute), 0, 1),
        (DATES, "seconds") => (E::Date(D::Seconds), 0, 1),
        (DATES, "add") => (E::Date(D::Add), 2, 2),
        (DATES, "add-duration") => (E::Date(D::AddDuration), 2, 2),
        (DATES, "difference") => (E::Date(D::Difference), 2, 2),
        (DATES, "duration") => (E::Date(D::Duration), 0, 1),
        (DATES, "sum") => (E::Date(D::Sum), 1, 1),
        (DATES, "format-date") => (E::Date(D::FormatDate), 2, 2),
        _ => return None,
    };
    Some((Function::Extension(extension), least, most))
}

impl Function {
    /// What the function gives.
    pub(crate) fn type_of(self) -> Type {
        use Extension as E;
        match self {
            Self::Last
            | Self::Position
            | Self::Count
            | Self::StringLength
            | Self::Number
            | Self::Sum
            | Self::Floor
            | Self::Ceiling
            | Self::Round => Type::Number,
            Self::Id | Self::Document | Self::Key | Self::Current => Type::Nodes,
            Self::LocalName
            | Self::NamespaceUri
            | Self::Name
            | Self::String
            | Self::Concat
            | Self::SubstringBefore
            | Self::SubstringAfter
            | Self::Substring
            | Self::NormalizeSpace
            | Self::Translate
            | Self::FormatNumber
            | Self::UnparsedEntityUri
            | Self::GenerateId => Type::Text,
            Self::StartsWith
            | Self::Contains
            | Self::Boolean
            | Self::Not
            | Self::True
            | Self::False
            | Self::Lang
            | Self::ElementAvailable
            | Self::FunctionAvailable => Type::Boolean,
            Self::SystemProperty | Self::User(_) => Type::Unknown,
            Self::Extension(extension) => match extension {
                E::NodeSet
                | E::Tokenize
                | E::Split
                | E::Replace
                | E::Highest
                | E::Lowest
                | E::Difference
                | E::Intersection
                | E::Distinct
                | E::Leading
                | E::Trailing
                | E::RegexMatch => Type::Nodes,
                E::HasSameNode | E::RegexTest => Type::Boolean,
                E::ObjectType
                | E::Padding
                | E::Align
                | E::ConcatNodes
                | E::EncodeUri
                | E::DecodeUri
                | E::RegexReplace => Type::Text,
                E::Evaluate | E::Date(_) => Type::Unknown,
                _ => Type::Number,
            },
        }
    }
}
