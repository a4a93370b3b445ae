//! DEFLATE (RFC 1951) for very many short inputs.
//!
//! In: bytes. Out: the same, deflated, behind what an output holds already. A crawl packs five or six records for every page, most of them
//! shorter than a kilobyte, each on its own. General encoders clear tables of a hundred kilobytes before each input and look far
//! back for every match; here a small table is never cleared, because its entries tell which input they are of, and of the places
//! where a match may begin only the last two are tried. Pages come out about as small. Start at [`Deflate::member`].

use std::array;

/// Places that are remembered: two for each hash.
const HASH_BITS: u32 = 12;
/// Shortest match that is looked for. Shorter ones hardly save anything.
const MATCH_MIN: usize = 4;
const MATCH_MAX: usize = 258;
const DISTANCE_MAX: usize = 32 * 1024;
/// Symbols after which a block ends: what comes later may be of another kind.
const BLOCK_TOKENS_MAX: usize = 16 * 1024;
/// Bytes that are looked at together; nothing refers back beyond.
const STRETCH_BYTES: usize = 1 << 28;
/// Below so many symbols a code of their own saves a twentieth at best, and takes longer than all the rest.
const OWN_CODE_TOKENS_MIN: usize = 400;

const END_OF_BLOCK: usize = 256;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const CODE_BITS_MAX: usize = 15;
/// The order in which the lengths of the code for code lengths are written.
const LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// What a length or a distance is written as: a symbol, and so many further bits.
#[derive(Debug, Clone, Copy)]
struct Class {
    symbol: u16,
    first: u16,
    extra_bits: u8,
}

/// The class of each match length, from 3 on.
const LENGTH_CLASSES: [Class; 256] = {
    let mut classes = [Class { symbol: 0, first: 0, extra_bits: 0 }; 256];
    let (mut symbol, mut length) = (257_u16, 0_usize);
    while length < 255 {
        let group = (symbol - 257) / 4;
        let extra_bits = if group < 2 { 0 } else { (group - 1) as u8 };
        let mut member = 0;
        while member < 1 << extra_bits && length + member < 255 {
            classes[length + member] = Class { symbol, first: length as u16, extra_bits };
            member += 1;
        }
        length += member;
        symbol += 1;
    }
    // The longest has a symbol of its own.
    classes[255] = Class { symbol: 285, first: 255, extra_bits: 0 };
    classes
};

/// The class of a distance, counted from 0.
fn distance_class(distance: u32) -> Class {
    if distance < 4 {
        return Class { symbol: distance as u16, first: distance as u16, extra_bits: 0 };
    }
    let extra_bits = 30 - distance.leading_zeros();
    let symbol = 2 * (extra_bits + 1) + (distance >> extra_bits & 1);
    let first = (2 | symbol & 1) << extra_bits;
    Class { symbol: symbol as u16, first: first as u16, extra_bits: extra_bits as u8 }
}

/// A literal byte, or a match: its length from 3 on, and its distance from 1 on.
#[derive(Debug, Clone, Copy)]
struct Token(u32);

impl Token {
    const MATCH: u32 = 1 << 31;

    fn literal(byte: u8) -> Self {
        Self(u32::from(byte))
    }

    fn reference(length: usize, distance: usize) -> Self {
        Self(Self::MATCH | ((length - 3) as u32) << 16 | (distance - 1) as u32)
    }

    /// Length and distance, each from 0 on; nothing for a literal.
    fn as_reference(self) -> Option<(usize, u32)> {
        (self.0 & Self::MATCH != 0).then_some(((self.0 >> 16 & 0xff) as usize, self.0 & 0xffff))
    }
}

/// An encoder with its tables. Each thread keeps one.
pub(crate) struct Deflate {
    /// For each hash, where it last stood and where before, counted over all inputs.
    places: Vec<[u32; 2]>,
    /// Where the present input begins by that count, and where it ends.
    base: u32,
    end: u32,
    tokens: Vec<Token>,
    literal_counts: [u32; LITERALS],
    distance_counts: [u32; DISTANCES],
}

impl Default for Deflate {
    fn default() -> Self {
        Self {
            places: vec![[0; 2]; 1 << HASH_BITS],
            base: 1,
            end: 1,
            tokens: Vec::new(),
            literal_counts: [0; LITERALS],
            distance_counts: [0; DISTANCES],
        }
    }
}

impl Deflate {
    /// Appends `input`, deflated, to `out`.
    pub(crate) fn member(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let mut bits = Bits { out, held: 0, count: 0 };
        let mut stretches = input.chunks(STRETCH_BYTES).peekable();
        if stretches.peek().is_none() {
            self.block(&[], true, &mut bits);
        }
        while let Some(stretch) = stretches.next() {
            self.stretch(stretch, stretches.peek().is_none(), &mut bits);
        }
        bits.finish();
    }

    fn stretch(&mut self, input: &[u8], is_last: bool, bits: &mut Bits<'_>) {
        if self.end as usize + input.len() >= u32::MAX as usize {
            self.places.fill([0; 2]);
            self.end = 1;
        }
        self.base = self.end;
        self.end += input.len() as u32;
        let (mut at, mut block_start, mut misses) = (0, 0, 0_usize);
        while at < input.len() {
            if self.tokens.len() >= BLOCK_TOKENS_MAX {
                self.block(&input[block_start..at], false, bits);
                block_start = at;
            }
            match self.longest(input, at) {
                Some((length, distance)) => {
                    misses = 0;
                    self.push_reference(length, distance);
                    // A few places inside the match are worth remembering; all of them would take as long as finding it.
                    let end = at + length;
                    for inside in [at + 1, end - 2, end - 1] {
                        self.remember(input, inside);
                    }
                    at = end;
                }
                None => {
                    // Where nothing repeats for long, most places are passed over: pictures are packed already.
                    let step = (1 + (misses >> 6)).min(input.len() - at);
                    misses += 1;
                    for &byte in &input[at..at + step] {
                        self.tokens.push(Token::literal(byte));
                        self.literal_counts[usize::from(byte)] += 1;
                    }
                    at += step;
                }
            }
        }
        self.block(&input[block_start..], is_last, bits);
    }

    fn push_reference(&mut self, length: usize, distance: usize) {
        let token = Token::reference(length, distance);
        self.tokens.push(token);
        self.literal_counts[usize::from(LENGTH_CLASSES[length - 3].symbol)] += 1;
        self.distance_counts[usize::from(distance_class((distance - 1) as u32).symbol)] += 1;
    }

    /// The longer of the two matches that may begin here, with its distance. Remembers the place.
    fn longest(&mut self, input: &[u8], at: usize) -> Option<(usize, usize)> {
        let bucket = &mut self.places[hash_at(input, at)?];
        let here = self.base + at as u32;
        let [last, before] = *bucket;
        *bucket = [here, last];
        let mut best = None;
        let mut best_length = MATCH_MIN - 1;
        for place in [last, before] {
            if place < self.base {
                break;
            }
            let start = (place - self.base) as usize;
            if at - start > DISTANCE_MAX {
                break;
            }
            let length = common_length(input, start, at);
            if length > best_length {
                best_length = length;
                best = Some((length, at - start));
            }
        }
        best
    }

    fn remember(&mut self, input: &[u8], at: usize) {
        if let Some(hash) = hash_at(input, at) {
            let bucket = &mut self.places[hash];
            *bucket = [self.base + at as u32, bucket[0]];
        }
    }

    /// Writes the symbols that have come together, by whichever code takes least room, or the bytes as they are.
    fn block(&mut self, bytes: &[u8], is_last: bool, bits: &mut Bits<'_>) {
        self.literal_counts[END_OF_BLOCK] = 1;
        let fixed = Codes::fixed();
        let mut best = self.cost(fixed);
        let mut own = None;
        if self.tokens.len() >= OWN_CODE_TOKENS_MIN {
            let codes = Codes::of(&self.literal_counts, &self.distance_counts);
            let head = CodeHead::of(&codes);
            let cost = self.cost(&codes) + head.cost;
            if cost < best {
                best = cost;
                own = Some((codes, head));
            }
        }
        let stored = bytes.len() as u64 * 8 + 42 * (1 + bytes.len() as u64 / 0xffff);
        if stored <= best {
            write_stored(bytes, is_last, bits);
        } else {
            bits.out.reserve(best.div_ceil(8) as usize + 8);
            bits.push(u32::from(is_last), 1);
            match &own {
                Some((codes, head)) => {
                    bits.push(2, 2);
                    head.write(bits);
                    self.write_tokens(codes, bits);
                }
                None => {
                    bits.push(1, 2);
                    self.write_tokens(fixed, bits);
                }
            }
        }
        self.tokens.clear();
        self.literal_counts.fill(0);
        self.distance_counts.fill(0);
    }

    /// Bits that the symbols take by a code.
    fn cost(&self, codes: &Codes) -> u64 {
        let literals = self.literal_counts.iter().zip(&codes.literals).enumerate();
        let literals = literals.map(|(symbol, (&count, code))| {
            let extra = if symbol > 264 && symbol < 285 { (symbol - 261) / 4 } else { 0 };
            u64::from(count) * (u64::from(code.length) + extra as u64)
        });
        let distances = self.distance_counts.iter().zip(&codes.distances).enumerate();
        let distances = distances.map(|(symbol, (&count, code))| {
            let extra = if symbol > 3 { symbol / 2 - 1 } else { 0 };
            u64::from(count) * (u64::from(code.length) + extra as u64)
        });
        literals.sum::<u64>() + distances.sum::<u64>() + 3
    }

    fn write_tokens(&self, codes: &Codes, bits: &mut Bits<'_>) {
        for token in &self.tokens {
            let Some((length, distance)) = token.as_reference() else {
                bits.code(codes.literals[token.0 as usize & 0xff]);
                continue;
            };
            let class = LENGTH_CLASSES[length & 0xff];
            let extra = length as u32 - u32::from(class.first);
            bits.code_with(codes.literals[usize::from(class.symbol)], extra, class.extra_bits);
            let class = distance_class(distance);
            let extra = distance - u32::from(class.first);
            bits.code_with(codes.distances[usize::from(class.symbol)], extra, class.extra_bits);
        }
        bits.code(codes.literals[END_OF_BLOCK]);
    }
}

/// The bytes as they are, in as many blocks as they need.
fn write_stored(bytes: &[u8], is_last: bool, bits: &mut Bits<'_>) {
    let mut pieces = bytes.chunks(0xffff).peekable();
    loop {
        let piece = pieces.next().unwrap_or_default();
        let ends = pieces.peek().is_none();
        bits.push(u32::from(is_last && ends), 1);
        bits.push(0, 2);
        bits.finish();
        bits.out.extend_from_slice(&(piece.len() as u16).to_le_bytes());
        bits.out.extend_from_slice(&(!(piece.len() as u16)).to_le_bytes());
        bits.out.extend_from_slice(piece);
        if ends {
            return;
        }
    }
}

/// Where the four bytes at a place are remembered; nothing near the end.
fn hash_at(input: &[u8], at: usize) -> Option<usize> {
    let bytes = input.get(at..at + MATCH_MIN)?;
    let number = u32::from_le_bytes(bytes.try_into().ok()?);
    Some((number.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize)
}

/// How long what stands at both places is the same.
fn common_length(input: &[u8], start: usize, at: usize) -> usize {
    let limit = MATCH_MAX.min(input.len() - at);
    let (one, other) = (&input[start..start + limit], &input[at..at + limit]);
    let mut length = 0;
    let (eights, others) = (one.chunks_exact(8), other.chunks_exact(8));
    for (one, other) in eights.zip(others) {
        let differ = number_of(one) ^ number_of(other);
        if differ != 0 {
            return length + differ.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + one[length..].iter().zip(&other[length..]).take_while(|(one, other)| one == other).count()
}

fn number_of(eight: &[u8]) -> u64 {
    eight.try_into().map_or(0, u64::from_le_bytes)
}

/// Bits on their way out, lowest first.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits<'_> {
    /// At most 32 of them.
    fn push(&mut self, bits: u32, count: u8) {
        self.held |= u64::from(bits) << self.count;
        self.count += u32::from(count);
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.held as u32).to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
    }

    fn code(&mut self, code: Code) {
        self.push(u32::from(code.bits), code.length);
    }

    /// A code and the bits behind it: 28 at most, of the farthest distance.
    fn code_with(&mut self, code: Code, extra: u32, extra_bits: u8) {
        self.push(u32::from(code.bits) | extra << code.length, code.length + extra_bits);
    }

    /// Fills the last byte up.
    fn finish(&mut self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.held.to_le_bytes()[..bytes]);
        (self.held, self.count) = (0, 0);
    }
}

/// What a symbol is written as, its first bit lowest. A symbol that does not occur has length 0.
#[derive(Debug, Clone, Copy, Default)]
struct Code {
    bits: u16,
    length: u8,
}

struct Codes {
    literals: [Code; 288],
    distances: [Code; DISTANCES],
}

impl Codes {
    /// The code that every decoder knows.
    fn fixed() -> &'static Self {
        static FIXED: std::sync::LazyLock<Codes> = std::sync::LazyLock::new(|| Codes {
            literals: codes_of(&array::from_fn(|symbol| match symbol {
                0..144 => 8,
                144..256 => 9,
                256..280 => 7,
                _ => 8,
            })),
            distances: codes_of(&[5; DISTANCES]),
        });
        &FIXED
    }

    /// The best code for symbols that occur so often.
    fn of(literals: &[u32; LITERALS], distances: &[u32; DISTANCES]) -> Self {
        let mut lengths = [0; 288];
        lengths[..LITERALS].copy_from_slice(&code_lengths(literals, CODE_BITS_MAX));
        Self { literals: codes_of(&lengths), distances: codes_of(&code_lengths(distances, CODE_BITS_MAX)) }
    }
}

/// How a code of one's own is told before it is used.
struct CodeHead {
    literals: usize,
    distances: usize,
    /// Lengths of codes, with repetitions as 16, 17 and 18; and what follows those.
    symbols: Vec<(u8, u8)>,
    code: [Code; 19],
    lengths: usize,
    cost: u64,
}

impl CodeHead {
    fn of(codes: &Codes) -> Self {
        let used = |codes: &[Code], least: usize| {
            codes.iter().rposition(|code| code.length > 0).map_or(least, |last| (last + 1).max(least))
        };
        let (literals, distances) = (used(&codes.literals, 257), used(&codes.distances, 1));
        let all = codes.literals[..literals].iter().chain(&codes.distances[..distances]);
        let all: Vec<u8> = all.map(|code| code.length).collect();
        let mut symbols = Vec::with_capacity(all.len());
        let mut rest = &all[..];
        while let Some(&length) = rest.first() {
            let run = rest.iter().take_while(|&&other| other == length).count();
            let taken = match (length, run) {
                (0, 11..) => {
                    symbols.push((18, run.min(138) as u8 - 11));
                    run.min(138)
                }
                (0, 3..) => {
                    symbols.push((17, run as u8 - 3));
                    run
                }
                (_, 4..) if length > 0 => {
                    symbols.push((length, 0));
                    let again = (run - 1).min(6);
                    symbols.push((16, again as u8 - 3));
                    again + 1
                }
                _ => {
                    symbols.push((length, 0));
                    1
                }
            };
            rest = &rest[taken..];
        }
        let mut counts = [0; 19];
        for &(symbol, _) in &symbols {
            counts[usize::from(symbol)] += 1;
        }
        let code = codes_of(&code_lengths(&counts, 7));
        let lengths =
            LENGTH_ORDER.iter().rposition(|&symbol| code[symbol].length > 0).map_or(4, |last| last + 1);
        let lengths = lengths.max(4);
        let written = symbols
            .iter()
            .map(|&(symbol, _)| u64::from(code[usize::from(symbol)].length) + u64::from(repeat_bits(symbol)));
        let cost = 14 + 3 * lengths as u64 + written.sum::<u64>();
        Self { literals, distances, symbols, code, lengths, cost }
    }

    fn write(&self, bits: &mut Bits<'_>) {
        bits.push((self.literals - 257) as u32, 5);
        bits.push((self.distances - 1) as u32, 5);
        bits.push((self.lengths - 4) as u32, 4);
        for &symbol in &LENGTH_ORDER[..self.lengths] {
            bits.push(u32::from(self.code[symbol].length), 3);
        }
        for &(symbol, more) in &self.symbols {
            bits.code(self.code[usize::from(symbol)]);
            bits.push(u32::from(more), repeat_bits(symbol));
        }
    }
}

/// Bits that follow a symbol for repeated lengths.
fn repeat_bits(symbol: u8) -> u8 {
    match symbol {
        16 => 2,
        17 => 3,
        18 => 7,
        _ => 0,
    }
}

/// Lengths of the best code for symbols that occur so often, none longer than `bits_max`. At least two symbols have one, because
/// decoders refuse a code with holes in it.
fn code_lengths<const N: usize>(counts: &[u32; N], bits_max: usize) -> [u8; N] {
    let mut lengths = [0; N];
    let mut symbols: Vec<(u32, u16)> =
        (0..).zip(counts).filter_map(|(symbol, &count)| (count > 0).then_some((count, symbol))).collect();
    if symbols.len() < 2 {
        let used = symbols.first().map_or(0, |&(_, symbol)| usize::from(symbol));
        lengths[used] = 1;
        lengths[usize::from(used == 0)] = 1;
        return lengths;
    }
    symbols.sort_unstable();
    let mut per_length = depths(&symbols, bits_max);
    // What was cut to the longest length takes too much of the code: shorter ones make room, one step at a time.
    let mut taken: u64 = per_length
        .iter()
        .enumerate()
        .take(bits_max + 1)
        .skip(1)
        .map(|(length, &many)| u64::from(many) << (bits_max - length))
        .sum();
    while taken > 1 << bits_max {
        per_length[bits_max] -= 1;
        if let Some(shorter) = (1..bits_max).rev().find(|&length| per_length[length] > 0) {
            per_length[shorter] -= 1;
            per_length[shorter + 1] += 2;
        }
        taken -= 1;
    }
    // The rarest have the longest.
    let mut rarest_first = symbols.iter();
    for length in (1..=bits_max).rev() {
        for &(_, symbol) in rarest_first.by_ref().take(per_length[length] as usize) {
            lengths[usize::from(symbol)] = length as u8;
        }
    }
    lengths
}

/// How many symbols stand how deep in Huffman's tree, those too deep counted at `bits_max`. Symbols come rarest first.
fn depths(symbols: &[(u32, u16)], bits_max: usize) -> [u32; CODE_BITS_MAX + 1] {
    // Pairs are joined in order of weight; those made before weigh no more than those made after, so two queues are enough.
    let leaves = symbols.len();
    let mut weights: Vec<u32> = symbols.iter().map(|&(count, _)| count).collect();
    let mut parents = vec![0_u32; 2 * leaves - 1];
    let (mut leaf, mut joined) = (0, leaves);
    while weights.len() < parents.len() {
        let mut weight = 0;
        for _ in 0..2 {
            let takes_leaf = leaf < leaves && (joined == weights.len() || weights[leaf] <= weights[joined]);
            let taken = if takes_leaf { &mut leaf } else { &mut joined };
            weight += weights[*taken];
            parents[*taken] = weights.len() as u32;
            *taken += 1;
        }
        weights.push(weight);
    }
    // From the root down, each parent comes before its children.
    let mut per_length = [0; CODE_BITS_MAX + 1];
    let mut depth = vec![0_u32; parents.len()];
    for node in (0..parents.len() - 1).rev() {
        depth[node] = depth[parents[node] as usize] + 1;
        if node < leaves {
            per_length[(depth[node] as usize).min(bits_max)] += 1;
        }
    }
    per_length
}

/// The code that lengths stand for: shorter codes first, equal ones in the order of their symbols.
fn codes_of<const N: usize>(lengths: &[u8; N]) -> [Code; N] {
    let mut next = [0_u16; CODE_BITS_MAX + 2];
    for &length in lengths {
        if length > 0 {
            next[usize::from(length) + 1] += 1;
        }
    }
    for length in 1..next.len() {
        next[length] = (next[length - 1] + next[length]) << 1;
    }
    array::from_fn(|symbol| {
        let length = lengths[symbol];
        if length == 0 {
            return Code::default();
        }
        let number = &mut next[usize::from(length)];
        let bits = number.reverse_bits() >> (16 - u32::from(length));
        *number += 1;
        Code { bits, length }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    /// Deflates with an encoder that has seen other things, and undoes it with somebody else's decoder.
    #[track_caller]
    fn check(input: &[u8]) -> usize {
        let mut deflate = Deflate::default();
        let mut out = Vec::new();
        for before in [&b"something else altogether"[..], input, input] {
            out.clear();
            deflate.member(before, &mut out);
        }
        let mut back = Vec::new();
        let mut decoder = flate2::bufread::DeflateDecoder::new(&out[..]);
        decoder.read_to_end(&mut back).expect("what was deflated can be inflated");
        assert!(back == input, "{} bytes came back as {}", input.len(), back.len());
        assert!(decoder.into_inner().is_empty(), "nothing follows");
        out.len()
    }

    #[test]
    fn everything_comes_back() {
        let noise = |count: u32| -> Vec<u8> {
            (0..count).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
        };
        check(b"");
        check(b"a");
        check(b"abcabcabcabcabc");
        assert!(check(&[b'x'; 1_000_000]) < 2_000);
        // What cannot be packed grows by its frame only.
        for count in [300, 70_000, 300_000] {
            let noise: Vec<u8> =
                noise(count).iter().zip(noise(count * 3).iter().skip(7)).map(|(a, b)| a ^ b).collect();
            check(&noise);
        }
        check(&[noise(40_000), vec![0; 40_000], noise(40_000)].concat());
        let words: String =
            (0..40_000_u32).map(|number| format!("w{} ", number.wrapping_mul(40_503) % 997)).collect();
        assert!(check(words.as_bytes()) < words.len() / 2);
    }

    #[test]
    fn matches_of_every_length_and_distance_come_back() {
        for distance in (1..600).chain([32_767, 32_768, 32_769]) {
            let start: Vec<u8> =
                (0..distance as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
            let length = 3 + distance % 300;
            let again: Vec<u8> = start.iter().copied().cycle().take(length).collect();
            check(&[&start[..], &again, b"end"].concat());
        }
    }

    #[test]
    fn a_code_of_extreme_counts_stays_within_its_bits() {
        let mut count = 1_u32;
        let mut before = 1;
        let counts: [u32; 40] = array::from_fn(|_| {
            (count, before) = (count.saturating_add(before), count);
            before
        });
        for bits_max in [7, 15] {
            let lengths = code_lengths(&counts, bits_max);
            assert!(lengths.iter().all(|&length| (1..=bits_max as u8).contains(&length)), "{lengths:?}");
            let taken: u64 = lengths.iter().map(|&length| 1 << (bits_max - usize::from(length))).sum();
            assert_eq!(taken, 1 << bits_max, "a code without holes");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(input in proptest::collection::vec(any::<u8>(), 0..3000)) {
            check(&input);
        }

        #[test]
        fn repetitions_come_back(pieces in proptest::collection::vec((0_usize..60, 1_usize..50), 0..200)) {
            let all: Vec<u8> = (0..200_u8).collect();
            let input: Vec<u8> = pieces.iter().flat_map(|&(start, length)| all[start..start + length].to_vec()).collect();
            check(&input);
        }
    }
}
