//! Words enough for sentences that look like a language, in six of them.
//!
//! Function words come first and are drawn more often, so that language detection has something to hold on
//! to. None of it means anything.

use super::random::Random;

/// A language of generated text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Language {
    /// BCP 47 tag.
    pub(crate) tag: &'static str,
    words: &'static [&'static str],
}

#[rustfmt::skip]
const ENGLISH: Language = Language {
    tag: "en",
    words: &[
        "the", "of", "and", "a", "to", "in", "is", "with", "for", "that", "was", "on", "by", "from",
        "which", "were", "this", "their", "river", "garden", "letter", "winter", "harbour", "market",
        "window", "mountain", "teacher", "library", "morning", "bridge", "painted", "carried",
        "remembered", "crossed", "opened", "collected", "quiet", "narrow", "ancient", "bright", "slowly",
        "often", "together", "station", "orchard", "village", "weaver", "thread",
    ],
};

#[rustfmt::skip]
const GERMAN: Language = Language {
    tag: "de",
    words: &[
        "der", "die", "und", "das", "in", "von", "zu", "mit", "den", "ist", "auf", "für", "nicht", "eine",
        "im", "auch", "sich", "wird", "Fluss", "Garten", "Brief", "Winter", "Hafen", "Markt", "Fenster",
        "Gebirge", "Lehrerin", "Bücherei", "Morgen", "Brücke", "malte", "trug", "erinnerte", "überquerte",
        "öffnete", "sammelte", "still", "schmal", "uralt", "hell", "langsam", "häufig", "gemeinsam",
        "Bahnhof", "Obstwiese", "Dorf", "Weberin", "Faden",
    ],
};

#[rustfmt::skip]
const FRENCH: Language = Language {
    tag: "fr",
    words: &[
        "le", "la", "de", "et", "les", "des", "un", "une", "dans", "est", "pour", "que", "qui", "sur",
        "avec", "par", "au", "était", "rivière", "jardin", "lettre", "hiver", "port", "marché", "fenêtre",
        "montagne", "institutrice", "bibliothèque", "matin", "pont", "peignait", "portait", "rappelait",
        "traversait", "ouvrait", "rassemblait", "calme", "étroit", "ancien", "clair", "lentement",
        "souvent", "ensemble", "gare", "verger", "village", "tisserand", "fil",
    ],
};

#[rustfmt::skip]
const SPANISH: Language = Language {
    tag: "es",
    words: &[
        "el", "la", "de", "y", "los", "las", "un", "una", "en", "es", "para", "que", "con", "por", "del",
        "se", "su", "era", "río", "jardín", "carta", "invierno", "puerto", "mercado", "ventana",
        "montaña", "maestra", "biblioteca", "mañana", "puente", "pintaba", "llevaba", "recordaba",
        "cruzaba", "abría", "reunía", "tranquilo", "estrecho", "antiguo", "claro", "despacio", "siempre",
        "juntos", "estación", "huerto", "pueblo", "tejedora", "hilo",
    ],
};

#[rustfmt::skip]
const ITALIAN: Language = Language {
    tag: "it",
    words: &[
        "il", "la", "di", "e", "gli", "le", "un", "una", "nel", "è", "per", "che", "con", "da", "della",
        "si", "sul", "era", "fiume", "giardino", "lettera", "inverno", "porto", "mercato", "finestra",
        "montagna", "maestra", "biblioteca", "mattina", "ponte", "dipingeva", "portava", "ricordava",
        "attraversava", "apriva", "raccoglieva", "tranquillo", "stretto", "antico", "chiaro", "piano",
        "spesso", "insieme", "stazione", "frutteto", "paese", "tessitrice", "filo",
    ],
};

#[rustfmt::skip]
const RUSSIAN: Language = Language {
    tag: "ru",
    words: &[
        "и", "в", "не", "на", "что", "с", "по", "из", "к", "за", "у", "от", "для", "как", "это", "его",
        "она", "был", "река", "сад", "письмо", "зима", "гавань", "рынок", "окно", "гора", "учительница",
        "библиотека", "утро", "мост", "рисовал", "носил", "помнил", "переходил", "открывал", "собирал",
        "тихий", "узкий", "древний", "светлый", "медленно", "часто", "вместе", "вокзал", "яблоня",
        "деревня", "ткачиха", "нить",
    ],
};

impl Language {
    /// English half of the time, one of the others otherwise.
    pub(crate) fn choose(random: &mut Random) -> Self {
        match random.below(10) {
            0..5 => ENGLISH,
            5 => GERMAN,
            6 => FRENCH,
            7 => SPANISH,
            8 => ITALIAN,
            _ => RUSSIAN,
        }
    }

    fn word(self, random: &mut Random) -> &'static str {
        // The smaller of two draws: what comes first is drawn more often.
        let count = self.words.len() as u64;
        let index = random.below(count).min(random.below(count));
        self.words[usize::try_from(index).unwrap_or_default()]
    }

    /// `count` words with spaces between them, the first with a capital.
    pub(crate) fn phrase(self, text: &mut String, random: &mut Random, count: u64) {
        let mut first = self.word(random).chars();
        text.extend(first.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(first.as_str());
        for _ in 1..count {
            text.push(' ');
            text.push_str(self.word(random));
        }
    }

    /// A phrase that ends in a full stop.
    pub(crate) fn sentence(self, text: &mut String, random: &mut Random) {
        let count = 5 + random.below(10);
        self.phrase(text, random, count);
        text.push('.');
    }
}
