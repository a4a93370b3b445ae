//! The structure of broken JSON: objects, arrays, and what is missing or too much between them.
//!
//! The reader is always in one of three states, and writes while it reads. The comma before an item is written with
//! the item, and the place where the item began is remembered, so that leaving one out is a cut. The text itself is
//! an array of values: usually there is one.

use super::bare::Bare;
use super::look::Look;
use super::mends::{Mend, Mends};
use super::strings::{Ended, Role};

/// Nesting at which reading gives up. Deeper than what the processor takes.
const DEPTH_MAX: usize = 1024;

/// Longest value that is moved to make room for a bracket before it.
const LIST_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value comes next: after a colon, or in an array.
    Value,
    /// A key comes next.
    Key,
    /// A value has just ended.
    After,
}

/// An object or an array that is open.
#[derive(Debug, Clone, Copy)]
struct Frame {
    object: bool,
    /// Items written.
    items: usize,
    /// Where its newest item begins in what is written, with the comma.
    item_start: usize,
    /// That item is not complete.
    pending: bool,
    /// Where the value being read begins, and where that of the newest complete member does.
    value_start: usize,
    last_value: Option<usize>,
    /// Opening braces that were dropped, and whose closing ones will be.
    doubled: usize,
    /// Nobody can tell what it belongs to.
    discard: bool,
}

impl Frame {
    fn new(object: bool, discard: bool) -> Self {
        Self {
            object,
            items: 0,
            item_start: 0,
            pending: false,
            value_start: 0,
            last_value: None,
            doubled: 0,
            discard,
        }
    }
}

/// Reads a text once and writes JSON.
#[derive(Debug)]
pub(super) struct Reader<'t, 'm> {
    pub(super) look: Look<'t>,
    pub(super) at: usize,
    pub(super) out: String,
    pub(super) mends: &'m mut Mends,
    /// The value being read holds a placeholder and will be left out.
    pub(super) spoiled: bool,
    /// False once a comment was found that never ends.
    pub(super) block_comments_end: bool,
    /// The end of the last line comment and the last HTML comment that were met.
    pub(super) line_end: usize,
    pub(super) html_comment_end: Option<usize>,
    /// Where the last bracket opens.
    pub(super) last_bracket: usize,
    /// Where the last bracket closes.
    pub(super) last_closing_bracket: usize,
    /// The text has keys without quotes.
    pub(super) bare_keys: bool,
    frames: Vec<Frame>,
    open_objects: usize,
    open_arrays: usize,
    members: usize,
    skipped_bytes: usize,
}

impl<'t, 'm> Reader<'t, 'm> {
    pub(super) fn new(text: &'t str, mends: &'m mut Mends) -> Self {
        Self {
            look: Look { text },
            at: 0,
            out: String::with_capacity(text.len() + 16),
            mends,
            spoiled: false,
            block_comments_end: true,
            line_end: 0,
            html_comment_end: Some(0),
            last_bracket: memchr::memrchr2(b'{', b'[', text.as_bytes()).unwrap_or(0),
            last_closing_bracket: memchr::memrchr2(b'}', b']', text.as_bytes()).unwrap_or(text.len()),
            bare_keys: false,
            frames: vec![Frame::new(false, false)],
            open_objects: 0,
            open_arrays: 0,
            members: 0,
            skipped_bytes: 0,
        }
    }

    /// Reads everything. Nothing when this is no JSON.
    pub(super) fn read(mut self) -> Option<String> {
        let mut state = State::Value;
        loop {
            let value_of_member = state == State::Value && self.in_object();
            self.skip_noise(!value_of_member);
            let Some(byte) = self.look.byte(self.at) else { break };
            if self.frames.len() > DEPTH_MAX {
                return None;
            }
            state = if self.at_root() {
                self.between_values(byte)
            } else {
                match state {
                    State::Value if value_of_member => self.member_value(byte),
                    State::Value => self.element(byte),
                    State::Key => self.key(byte),
                    State::After => self.after_value(byte),
                }
            };
        }
        self.finish();
        // Prose with a pair of braces in it is not JSON with flaws.
        let understood = self.members > 0 && self.skipped_bytes <= self.look.text.len() / 4 + 64;
        let values = self.frames[0].items;
        (understood && values > 0).then(|| {
            if values == 1 {
                return self.out;
            }
            self.mends.add(Mend::Several);
            format!("[{}]", self.out)
        })
    }

    // --- where we are ---

    fn frame(&mut self) -> &mut Frame {
        // The root is never taken off.
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn at_root(&self) -> bool {
        self.frames.len() == 1
    }

    pub(super) fn in_object(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.object)
    }

    pub(super) fn in_array(&self) -> bool {
        !self.at_root() && !self.in_object()
    }

    pub(super) fn is_before_json(&self) -> bool {
        self.at_root() && self.out.is_empty()
    }

    /// True when the bracket closes what is open, or what is around it.
    fn can_close(&self, bracket: u8) -> bool {
        if bracket == b'}' { self.open_objects > 0 } else { self.open_arrays > 0 }
    }

    // --- writing ---

    fn begin_item(&mut self) {
        let length = self.out.len();
        let frame = self.frame();
        frame.item_start = length;
        frame.pending = true;
        if frame.items > 0 {
            self.out.push(',');
        }
    }

    fn drop_item(&mut self, mend: Mend) {
        let frame = self.frame();
        frame.pending = false;
        let start = frame.item_start;
        self.out.truncate(start);
        self.mends.add(mend);
    }

    /// A scalar or a closed bracket is written.
    fn item_ends(&mut self) -> State {
        if std::mem::take(&mut self.spoiled) {
            self.drop_item(Mend::Placeholders);
        } else {
            self.members += usize::from(self.in_object());
            let frame = self.frame();
            frame.items += 1;
            frame.pending = false;
            frame.last_value = frame.object.then_some(frame.value_start);
        }
        State::After
    }

    fn open(&mut self, object: bool, discard: bool) -> State {
        self.out.push(if object { '{' } else { '[' });
        self.frames.push(Frame::new(object, discard));
        *(if object { &mut self.open_objects } else { &mut self.open_arrays }) += 1;
        if object { State::Key } else { State::Value }
    }

    /// Closes the innermost bracket.
    fn pop(&mut self) -> State {
        if self.at_root() {
            return State::Value;
        }
        let Some(frame) = self.frames.pop() else { return State::Value };
        *(if frame.object { &mut self.open_objects } else { &mut self.open_arrays }) -= 1;
        if frame.discard {
            self.drop_item(Mend::Skipped);
            return State::After;
        }
        self.out.push(if frame.object { '}' } else { ']' });
        self.item_ends()
    }

    fn skip_byte(&mut self, mend: Mend) {
        let length = self.look.char(self.at).map_or(1, char::len_utf8);
        if mend == Mend::Skipped {
            self.skipped_bytes += length;
        }
        self.at += length;
        self.mends.add(mend);
    }

    // --- the states ---

    /// Outside of all brackets: before, between and behind the values of the text.
    fn between_values(&mut self, byte: u8) -> State {
        match byte {
            b'{' | b'[' => {
                let next = self.look.skip_space(self.at + 1);
                // In what follows the JSON, most brackets open something else.
                let opens = self.out.is_empty()
                    || matches!(self.look.byte(next), Some(b'{' | b'[' | b'}' | b']'))
                    || self.look.key_ahead(next, false);
                if opens {
                    self.begin_item();
                    self.at += 1;
                    return self.open(byte == b'{', false);
                }
                self.skip_byte(Mend::Around);
            }
            b'}' | b']' => self.skip_byte(Mend::SurplusBrackets),
            b',' | b';' => self.skip_byte(Mend::SurplusCommas),
            _ if self.look.key_ahead(self.at, byte == b'@') => {
                if self.out.ends_with('}') {
                    return self.reopen();
                }
                self.mends.add(Mend::MissingBrackets);
                self.begin_item();
                return self.open(true, false);
            }
            _ => {
                // An assignment, a function's name, the rest of a page.
                let bytes = self.look.text.as_bytes();
                let next = bytes[self.at + 1..]
                    .iter()
                    .position(|byte| matches!(byte, b'{' | b'[' | b'}' | b']' | b'"' | b'<' | b'/' | b'\n'));
                self.at = next.map_or(bytes.len(), |next| self.at + 1 + next);
                self.mends.add(Mend::Around);
            }
        }
        State::Value
    }

    /// A member comes after its object was closed: one of the closing braces was too many.
    fn reopen(&mut self) -> State {
        self.mends.add(Mend::SurplusBrackets);
        self.out.pop();
        let around = self.frame();
        around.items -= 1;
        around.pending = true;
        // Not the number, but more than none, unless nothing was in it.
        let items = usize::from(!self.out.ends_with('{'));
        self.frames.push(Frame { items, ..Frame::new(true, false) });
        self.open_objects += 1;
        State::Key
    }

    fn key(&mut self, byte: u8) -> State {
        match byte {
            b'}' | b']' => {
                if self.frame().items > 0 {
                    self.mends.add(Mend::SurplusCommas);
                }
                self.close(byte)
            }
            b',' | b';' | b':' => {
                self.skip_byte(Mend::SurplusCommas);
                State::Key
            }
            b'{' | b'[' => self.bracket_for_key(byte),
            b'\\' if self.look.opening_quote(self.at + 1).is_some() => {
                self.skip_byte(Mend::Escapes);
                State::Key
            }
            _ => {
                if self.out.ends_with('"')
                    && self.element_ahead(self.at)
                    && let Some(state) = self.make_list()
                {
                    return state;
                }
                if let Some((quote, length)) = self.look.opening_quote(self.at) {
                    self.begin_item();
                    self.at += length;
                    let ended = self.read_string(quote, Role::Key);
                    return if ended == Ended::Cut { State::Key } else { self.colon() };
                }
                if let Some(end) = self.bare_key_end() {
                    self.begin_item();
                    self.write_bare_key(end);
                    return self.colon();
                }
                self.skip_byte(Mend::Skipped);
                State::Key
            }
        }
    }

    /// A bracket where a key should be.
    fn bracket_for_key(&mut self, byte: u8) -> State {
        let parent_is_array = self.frames.len() > 2
            && self.frames.get(self.frames.len() - 2).is_some_and(|frame| !frame.object);
        let frame = self.frame();
        if byte == b'{' && frame.items == 0 {
            frame.doubled += 1;
            self.skip_byte(Mend::SurplusBrackets);
            return State::Key;
        }
        if byte == b'{' && parent_is_array {
            // The next element begins, so this one has ended.
            self.mends.add(Mend::MissingBrackets);
            self.pop();
            return State::Value;
        }
        if byte == b'{'
            && self.out.ends_with('}')
            && let Some(state) = self.make_list()
        {
            return state;
        }
        self.begin_item();
        self.at += 1;
        self.open(byte == b'{', true)
    }

    /// Several values stand where one should: the last member's value becomes the first of a list.
    fn make_list(&mut self) -> Option<State> {
        let length = self.out.len();
        let frame = self.frame();
        let start = frame.last_value.filter(|start| length - start <= LIST_BYTES_MAX)?;
        frame.last_value = None;
        frame.items -= 1;
        frame.pending = true;
        self.members -= 1;
        self.out.insert(start, '[');
        self.frames.push(Frame { items: 1, ..Frame::new(false, false) });
        self.open_arrays += 1;
        self.mends.add(Mend::MissingBrackets);
        Some(State::Value)
    }

    /// What separates a key from its value.
    fn colon(&mut self) -> State {
        self.skip_noise(false);
        let start = self.at;
        while matches!(self.look.byte(self.at), Some(b':' | b'=' | b'>')) {
            self.at += 1;
        }
        match &self.look.text[start..self.at] {
            ":" => {}
            "" => match self.look.byte(self.at) {
                Some(b',') => {
                    let next = self.look.skip_space(self.at + 1);
                    if self.look.opening_quote(next).is_some() && !self.look.key_ahead(next, false) {
                        // `"name", "Ada"`
                        self.mends.add(Mend::Colons);
                        self.at = next;
                    } else {
                        self.drop_item(Mend::EmptyValues);
                        return State::After;
                    }
                }
                Some(b'}' | b']') => {
                    self.drop_item(Mend::EmptyValues);
                    return State::After;
                }
                Some(_) => self.mends.add(Mend::Colons),
                None => {}
            },
            _ => self.mends.add(Mend::Colons),
        }
        self.out.push(':');
        self.frame().value_start = self.out.len();
        State::Value
    }

    /// The value of a member; its key is written.
    fn member_value(&mut self, byte: u8) -> State {
        if let Some(end) = self.look.placeholder_end(self.at) {
            self.at = end;
            self.drop_item(Mend::Placeholders);
            return State::After;
        }
        match byte {
            b',' | b';' | b'}' | b']' => {
                self.drop_item(Mend::EmptyValues);
                State::After
            }
            b':' | b'=' => {
                self.skip_byte(Mend::Colons);
                State::Value
            }
            _ => self.any_value(byte),
        }
    }

    /// An element of an array.
    fn element(&mut self, byte: u8) -> State {
        match byte {
            b']' | b'}' => {
                if self.frame().items > 0 {
                    self.mends.add(Mend::SurplusCommas);
                }
                self.close(byte)
            }
            b',' | b';' | b':' => {
                self.skip_byte(Mend::SurplusCommas);
                State::Value
            }
            _ if self.look.key_ahead(self.at, false) && self.open_objects > 0 => {
                // Keys belong to the object around the array, which was not closed.
                self.mends.add(Mend::MissingBrackets);
                while !self.in_object() {
                    self.pop();
                }
                State::Key
            }
            _ if self.look.key_ahead(self.at, false) && self.out.ends_with('}') => self.reopen(),
            _ => {
                self.begin_item();
                self.any_value(byte)
            }
        }
    }

    fn any_value(&mut self, byte: u8) -> State {
        if byte == b'{' || byte == b'[' {
            self.at += 1;
            return self.open(byte == b'{', false);
        }
        if byte == b'\\' && self.look.opening_quote(self.at + 1).is_some() {
            self.skip_byte(Mend::Escapes);
        }
        if let Some((quote, length)) = self.look.opening_quote(self.at) {
            self.at += length;
            let role = if self.in_object() { Role::Member } else { Role::Element };
            return match self.read_string(quote, role) {
                Ended::Cut => {
                    self.drop_item(Mend::CutShort);
                    State::After
                }
                Ended::Closed => self.item_ends(),
            };
        }
        match self.read_bare_value() {
            Bare::Written => self.item_ends(),
            Bare::Nothing => {
                self.drop_item(Mend::EmptyValues);
                State::After
            }
            Bare::Cut => {
                self.drop_item(Mend::CutShort);
                State::After
            }
        }
    }

    fn after_value(&mut self, byte: u8) -> State {
        let object = self.in_object();
        let next = if object { State::Key } else { State::Value };
        match byte {
            b',' => {
                self.at += 1;
                next
            }
            b';' => {
                self.skip_byte(Mend::SurplusCommas);
                next
            }
            b'}' | b']' => self.close(byte),
            b'+' if self.out.ends_with('"') => {
                let start = self.look.skip_space(self.at + 1);
                match self.look.opening_quote(start) {
                    Some((quote, length)) => {
                        self.mends.add(Mend::Concatenated);
                        self.at = start + length;
                        self.out.pop();
                        let role = if object { Role::Member } else { Role::Element };
                        if self.continue_string(quote, role) == Ended::Cut {
                            self.frame().items -= 1;
                            self.drop_item(Mend::CutShort);
                        }
                    }
                    None => self.skip_byte(Mend::Skipped),
                }
                State::After
            }
            _ if object && self.look.key_ahead(self.at, true) => {
                self.mends.add(Mend::MissingCommas);
                State::Key
            }
            // The next element of the array around, or nobody's.
            b'{' if object => self.bracket_for_key(byte),
            _ if !object && self.look.value_ahead(self.at) => {
                self.mends.add(Mend::MissingCommas);
                State::Value
            }
            _ => {
                self.skip_byte(Mend::Skipped);
                State::After
            }
        }
    }

    // --- closing ---

    fn close(&mut self, bracket: u8) -> State {
        let object = self.in_object();
        if object == (bracket == b'}') {
            self.at += 1;
            let frame = self.frame();
            if frame.doubled > 0 {
                frame.doubled -= 1;
                return State::After;
            }
            return self.pop();
        }
        let can_close = self.can_close(bracket);
        if object {
            // `]` in an object.
            self.at += 1;
            if can_close {
                self.mends.add(Mend::MissingBrackets);
                while self.in_object() {
                    self.pop();
                }
                return self.pop();
            }
            if self.frames.len() > 2 {
                self.mends.add(Mend::WrongBrackets);
                return self.pop();
            }
            self.mends.add(Mend::SurplusBrackets);
            return State::After;
        }
        // `}` in an array.
        if !can_close {
            self.skip_byte(Mend::SurplusBrackets);
            return State::After;
        }
        if self.is_bracket_for_array() {
            self.at += 1;
            self.mends.add(Mend::WrongBrackets);
            return self.pop();
        }
        self.mends.add(Mend::MissingBrackets);
        self.pop();
        State::After
    }

    /// True when a `}` here was meant to be a `]`: members follow, and only the object around the array can have them.
    fn is_bracket_for_array(&self) -> bool {
        let next = self.look.skip_space(self.at + 1);
        let member_follows = self.look.byte(next) == Some(b',')
            && self.look.key_ahead(self.look.skip_space(next + 1), self.bare_keys);
        let around = |levels: usize| {
            self.frames.len().checked_sub(levels + 1).filter(|at| *at > 0).map(|at| self.frames[at].object)
        };
        let closed_next = self.look.byte(next) == Some(b'}') && self.open_objects == 1;
        around(1) == Some(true) && ((member_follows && around(2) != Some(true)) || closed_next)
    }

    /// Closes what the text leaves open.
    fn finish(&mut self) {
        if self.at_root() {
            return;
        }
        self.mends.add(Mend::MissingBrackets);
        if self.frame().pending {
            self.drop_item(Mend::CutShort);
        }
        while !self.at_root() {
            if self.frame().items == 0 {
                // Nothing of it has arrived.
                self.frames.pop();
                self.drop_item(Mend::CutShort);
            } else {
                self.pop();
            }
        }
    }
}
