//! EXIF, which is a TIFF within an image: the few tags that say what is shown, by whom, when and where.
//!
//! Offsets in it point anywhere, so every one is checked and directories are counted. What is not understood is passed over.

/// Entries that are looked at, all directories together.
const ENTRIES_MAX: usize = 2000;
const TEXT_BYTES_MAX: usize = 64 << 10;

/// What the tags say.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tags {
    pub(super) description: Option<String>,
    pub(super) artist: Option<String>,
    pub(super) copyright: Option<String>,
    pub(super) make: Option<String>,
    pub(super) model: Option<String>,
    /// As an `xsd:dateTime`.
    pub(super) taken: Option<String>,
    pub(super) orientation: Option<u32>,
    /// Latitude and longitude in degrees.
    pub(super) place: Option<(f64, f64)>,
    width: Option<u32>,
    height: Option<u32>,
}

impl Tags {
    /// Width and height, which a TIFF has as tags.
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        self.width.zip(self.height)
    }
}

/// Reads the tags.
pub(super) fn read(data: &[u8]) -> Tags {
    let mut tags = Tags::default();
    let big_endian = match data.get(..2) {
        Some(b"MM") => true,
        Some(b"II") => false,
        _ => return tags,
    };
    let tiff = Tiff { data, big_endian };
    let Some(first) = tiff.number(4, 4) else { return tags };
    let mut place = Place::default();
    let mut entries = 0;
    // Directories still to be read, and whether their tags are those of a place.
    let mut directories = vec![(first, false)];
    while let Some((offset, is_place)) = directories.pop() {
        let Some(count) = tiff.number(offset as usize, 2) else { continue };
        for index in 0..count as usize {
            entries += 1;
            if entries > ENTRIES_MAX {
                return tags;
            }
            let at = offset as usize + 2 + index * 12;
            let Some(entry) = tiff.entry(at) else { break };
            if is_place {
                match entry.tag {
                    1 => place.south = tiff.text(&entry).is_some_and(|text| text.starts_with(['S', 's'])),
                    2 => place.latitude = tiff.degrees(&entry),
                    3 => place.west = tiff.text(&entry).is_some_and(|text| text.starts_with(['W', 'w'])),
                    4 => place.longitude = tiff.degrees(&entry),
                    _ => {}
                }
                continue;
            }
            match entry.tag {
                0x100 => tags.width = entry.value,
                0x101 => tags.height = entry.value,
                0x10e => tags.description = tiff.text(&entry),
                0x10f => tags.make = tiff.text(&entry),
                0x110 => tags.model = tiff.text(&entry),
                0x112 => tags.orientation = entry.value.filter(|value| (1..=8).contains(value)),
                0x13b => tags.artist = tiff.text(&entry),
                0x8298 => tags.copyright = tiff.text(&entry),
                0x9003 => tags.taken = tiff.text(&entry).and_then(|text| moment(&text)),
                0x8769 => directories.extend(entry.value.map(|offset| (offset, false))),
                0x8825 => directories.extend(entry.value.map(|offset| (offset, true))),
                _ => {}
            }
        }
    }
    tags.place = place.decimal();
    tags
}

#[derive(Default)]
struct Place {
    latitude: Option<f64>,
    longitude: Option<f64>,
    south: bool,
    west: bool,
}

impl Place {
    fn decimal(&self) -> Option<(f64, f64)> {
        let sign = |degrees: f64, negative: bool| if negative { -degrees } else { degrees };
        let place = (sign(self.latitude?, self.south), sign(self.longitude?, self.west));
        (place.0.abs() <= 90.0 && place.1.abs() <= 180.0).then_some(place)
    }
}

struct Entry {
    tag: u32,
    kind: u32,
    count: usize,
    /// Where its values are.
    at: usize,
    /// Its first value, where that is a number.
    value: Option<u32>,
}

struct Tiff<'a> {
    data: &'a [u8],
    big_endian: bool,
}

impl Tiff<'_> {
    fn number(&self, at: usize, length: usize) -> Option<u32> {
        let bytes = self.data.get(at..at.checked_add(length)?)?;
        let join = |number: u32, byte: &u8| (number << 8) | u32::from(*byte);
        Some(if self.big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) })
    }

    fn entry(&self, at: usize) -> Option<Entry> {
        let tag = self.number(at, 2)?;
        let kind = self.number(at + 2, 2)?;
        let count = self.number(at + 4, 4)? as usize;
        let width: usize = match kind {
            1 | 2 | 7 => 1,
            3 => 2,
            4 => 4,
            5 | 10 => 8,
            _ => 4,
        };
        let inline = count.checked_mul(width)? <= 4;
        let at = if inline { at + 8 } else { self.number(at + 8, 4)? as usize };
        let value = match kind {
            3 => self.number(at, 2),
            4 => self.number(at, 4),
            _ => None,
        };
        Some(Entry { tag, kind, count, at, value })
    }

    fn text(&self, entry: &Entry) -> Option<String> {
        let length = entry.count.min(TEXT_BYTES_MAX);
        let bytes = self.data.get(entry.at..entry.at.checked_add(length)?)?;
        let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        let text = String::from_utf8_lossy(&bytes[..end]).trim().to_owned();
        (entry.kind == 2 && !text.is_empty()).then_some(text)
    }

    /// Degrees, minutes and seconds as one number.
    fn degrees(&self, entry: &Entry) -> Option<f64> {
        if entry.kind != 5 || entry.count < 3 {
            return None;
        }
        let part = |index: usize| {
            let at = entry.at.checked_add(index * 8)?;
            let (above, below) = (self.number(at, 4)?, self.number(at + 4, 4)?);
            (below != 0).then(|| f64::from(above) / f64::from(below))
        };
        Some(part(0)? + part(1)? / 60.0 + part(2)? / 3600.0)
    }
}

/// `2024:05:01 12:30:00` as `xsd:dateTime`.
fn moment(text: &str) -> Option<String> {
    let (day, time) = text.split_once(' ')?;
    let value = format!("{}T{}", day.replace(':', "-"), time.trim());
    value.parse::<jiff::civil::DateTime>().is_ok().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TIFF of one directory with the entries given as tag, kind, count, value or offset, and data after it.
    fn tiff(entries: &[(u16, u16, u32, u32)], data: &[u8]) -> Vec<u8> {
        let mut file = b"II\x2a\0\x08\0\0\0".to_vec();
        file.extend((entries.len() as u16).to_le_bytes());
        for (tag, kind, count, value) in entries {
            file.extend(tag.to_le_bytes());
            file.extend(kind.to_le_bytes());
            file.extend(count.to_le_bytes());
            file.extend(value.to_le_bytes());
        }
        file.extend([0; 4]);
        file.extend(data);
        file
    }

    #[test]
    fn tags_are_read_and_offsets_checked() {
        // One entry: data begins at 8 + 2 + 12 + 4.
        let file = tiff(&[(0x8298, 2, 7, 26)], b"(c) us\0");
        assert_eq!(read(&file).copyright.as_deref(), Some("(c) us"));
        let file = tiff(&[(0x9003, 2, 20, 26)], b"2024:05:01 12:30:00\0");
        assert_eq!(read(&file).taken.as_deref(), Some("2024-05-01T12:30:00"));
        let file = tiff(&[(0x112, 3, 1, 6), (0x100, 4, 1, 640), (0x101, 4, 1, 480)], b"");
        assert_eq!((read(&file).orientation, read(&file).size()), (Some(6), Some((640, 480))));
        for hostile in [
            tiff(&[(0x8298, 2, u32::MAX, 26)], b"x"),
            tiff(&[(0x8298, 2, 7, u32::MAX)], b"x"),
            // A directory that contains itself.
            tiff(&[(0x8769, 4, 1, 8), (0x8825, 4, 1, 8)], b""),
            b"II\x2a\0".to_vec(),
            b"MM".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(read(&hostile).copyright, None);
        }
    }
}
