//! The language of a text that does not say: a guess by letters and their neighbours, where it is a safe one.

use whatlang::Lang;

/// Shorter texts are not guessed at.
const CHARS_MIN: usize = 200;
/// What is looked at. A page says what language it is in within a few sentences, and each kilobyte costs time.
const SAMPLE_BYTES: usize = 1200;

/// The language as a BCP 47 tag, if the guess is reliable.
pub(crate) fn guess(text: &str) -> Option<&'static str> {
    if text.chars().take(CHARS_MIN).count() < CHARS_MIN {
        return None;
    }
    // Pages begin with menus; what follows is more like the language they are written in.
    let start = text.floor_char_boundary(text.len().saturating_sub(SAMPLE_BYTES) / 3);
    let end = text.floor_char_boundary(start + SAMPLE_BYTES);
    let found = whatlang::detect(&text[start..end])?;
    found.is_reliable().then(|| tag(found.lang()))
}

/// The shortest code of a language, as BCP 47 wants it.
fn tag(language: Lang) -> &'static str {
    match language {
        Lang::Afr => "af",
        Lang::Aka => "ak",
        Lang::Amh => "am",
        Lang::Ara => "ar",
        Lang::Aze => "az",
        Lang::Bel => "be",
        Lang::Ben => "bn",
        Lang::Bul => "bg",
        Lang::Cat => "ca",
        Lang::Ces => "cs",
        Lang::Cmn => "zh",
        Lang::Cym => "cy",
        Lang::Dan => "da",
        Lang::Deu => "de",
        Lang::Ell => "el",
        Lang::Eng => "en",
        Lang::Epo => "eo",
        Lang::Est => "et",
        Lang::Fin => "fi",
        Lang::Fra => "fr",
        Lang::Guj => "gu",
        Lang::Heb => "he",
        Lang::Hin => "hi",
        Lang::Hrv => "hr",
        Lang::Hun => "hu",
        Lang::Hye => "hy",
        Lang::Ind => "id",
        Lang::Ita => "it",
        Lang::Jav => "jv",
        Lang::Jpn => "ja",
        Lang::Kan => "kn",
        Lang::Kat => "ka",
        Lang::Khm => "km",
        Lang::Kor => "ko",
        Lang::Lat => "la",
        Lang::Lav => "lv",
        Lang::Lit => "lt",
        Lang::Mal => "ml",
        Lang::Mar => "mr",
        Lang::Mkd => "mk",
        Lang::Mya => "my",
        Lang::Nep => "ne",
        Lang::Nld => "nl",
        Lang::Nob => "nb",
        Lang::Ori => "or",
        Lang::Pan => "pa",
        Lang::Pes => "fa",
        Lang::Pol => "pl",
        Lang::Por => "pt",
        Lang::Ron => "ro",
        Lang::Rus => "ru",
        Lang::Sin => "si",
        Lang::Slk => "sk",
        Lang::Slv => "sl",
        Lang::Sna => "sn",
        Lang::Spa => "es",
        Lang::Srp => "sr",
        Lang::Swe => "sv",
        Lang::Tam => "ta",
        Lang::Tel => "te",
        Lang::Tgl => "tl",
        Lang::Tha => "th",
        Lang::Tuk => "tk",
        Lang::Tur => "tr",
        Lang::Ukr => "uk",
        Lang::Urd => "ur",
        Lang::Uzb => "uz",
        Lang::Vie => "vi",
        Lang::Yid => "yi",
        Lang::Zul => "zu",
    }
}

#[cfg(test)]
mod tests {
    use super::guess;

    #[test]
    fn clear_texts_are_guessed_and_others_are_not() {
        let german = "Der Hafen liegt am Ende der Straße, und wer am Abend dort steht, der sieht die Boote, wie sie \
            langsam zwischen den Bojen heimkehren, während die Sonne hinter den Hügeln verschwindet und die Laternen \
            eine nach der anderen zu leuchten beginnen.";
        let russian = "Гавань находится в конце улицы, и тот, кто стоит там вечером, видит лодки, которые медленно \
            возвращаются между буями, пока солнце исчезает за холмами, а фонари начинают светить один за другим, \
            и город готовится к ночи.";
        assert_eq!(guess(german), Some("de"));
        assert_eq!(guess(&german.repeat(50)), Some("de"));
        assert_eq!(guess(russian), Some("ru"));
        assert_eq!(guess("Der Hafen liegt am Ende der Straße."), None);
        assert_eq!(guess(&"0123456789 ".repeat(100)), None);
        assert_eq!(guess(""), None);
    }
}
