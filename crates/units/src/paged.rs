//! Lists that are longer than memory: pages of them in a file, the pages that are in use in memory.
//!
//! ```text
//!   Items::Kept(Vec)                     all in memory
//!   Items::Paged --- page 0 | page 1 | page 2 | ...         by place in the list
//!                      |        |        +-- in memory, changed: written to the file before its place is taken
//!                      |        +----------- in memory
//!                      +-------------------- in the file
//! ```
//!
//! Both forms return the same values, so no result depends on the form. The memory of a paged list
//! is fixed when the list is made. A walk from front to back, or near a place that advances slowly,
//! finds its pages in memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::state::{Broken, Reader, State, Value, Walk};

/// A value that always takes the same number of bytes in a file.
pub trait Flat: Clone {
    /// Size of an item.
    const BYTES: usize;
    /// Writes it into that many.
    fn put(&self, to: &mut [u8]);
    /// Reads it from the bytes of [`Flat::put`].
    fn take(from: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Flat for $t {
            const BYTES: usize = size_of::<$t>();
            fn put(&self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            fn take(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<$t>()];
                bytes.copy_from_slice(from);
                <$t>::from_le_bytes(bytes)
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64);

impl Flat for bool {
    const BYTES: usize = 1;
    fn put(&self, to: &mut [u8]) {
        to[0] = u8::from(*self);
    }
    fn take(from: &[u8]) -> Self {
        from[0] != 0
    }
}

macro_rules! newtypes {
    ($($t:ident),*) => {$(
        impl Flat for crate::$t {
            const BYTES: usize = size_of::<crate::$t>();
            fn put(&self, to: &mut [u8]) {
                self.0.put(to);
            }
            fn take(from: &[u8]) -> Self {
                crate::$t(Flat::take(from))
            }
        }
    )*};
}
newtypes!(Time, Span, Bytes, Rate, NodeId);

impl<T: Flat> Flat for Option<T> {
    const BYTES: usize = 1 + T::BYTES;
    fn put(&self, to: &mut [u8]) {
        self.is_some().put(&mut to[..1]);
        match self {
            Some(value) => value.put(&mut to[1..]),
            None => to[1..].fill(0),
        }
    }
    fn take(from: &[u8]) -> Self {
        bool::take(&from[..1]).then(|| T::take(&from[1..]))
    }
}

impl<A: Flat, B: Flat> Flat for (A, B) {
    const BYTES: usize = A::BYTES + B::BYTES;
    fn put(&self, to: &mut [u8]) {
        self.0.put(&mut to[..A::BYTES]);
        self.1.put(&mut to[A::BYTES..]);
    }
    fn take(from: &[u8]) -> Self {
        (A::take(&from[..A::BYTES]), B::take(&from[A::BYTES..]))
    }
}

/// Makes a struct flat: all its fields, one after the other, each with its type.
#[macro_export]
macro_rules! flat {
    ($t:ident { $($field:ident: $of:ty),* $(,)? }) => {
        impl $crate::paged::Flat for $t {
            const BYTES: usize = 0 $(+ <$of as $crate::paged::Flat>::BYTES)*;
            fn put(&self, to: &mut [u8]) {
                let $t { $($field),* } = self;
                let mut rest = to;
                $(
                    let (part, behind) = std::mem::take(&mut rest).split_at_mut(<$of as $crate::paged::Flat>::BYTES);
                    $crate::paged::Flat::put($field, part);
                    rest = behind;
                )*
                let _ = rest;
            }
            fn take(from: &[u8]) -> Self {
                let mut rest = from;
                $(
                    let (part, behind) = rest.split_at(<$of as $crate::paged::Flat>::BYTES);
                    let $field = <$of as $crate::paged::Flat>::take(part);
                    rest = behind;
                )*
                let _ = rest;
                $t { $($field),* }
            }
        }
    };
}

/// A file that the pages of lists share.
#[derive(Clone, Debug)]
pub struct PageFile(Arc<Mutex<Inside>>);

#[derive(Debug)]
struct Inside {
    file: File,
    /// Bytes that pages have.
    end: u64,
    /// Reason why the last page could not be written.
    failed: Option<String>,
}

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PageFile {
    /// Over an empty file that nothing else changes.
    pub fn new(file: File) -> PageFile {
        PageFile(Arc::new(Mutex::new(Inside { file, end: 0, failed: None })))
    }

    /// Number of bytes held.
    pub fn bytes(&self) -> u64 {
        held(&self.0).end
    }

    /// Reason why a page could not be written, such as a full disk. Pages then stay in memory.
    pub fn failed(&self) -> Option<String> {
        held(&self.0).failed.clone()
    }

    /// A place for a page that has none.
    fn place(&self, bytes: usize) -> u64 {
        let mut inside = held(&self.0);
        inside.end += bytes as u64;
        inside.end - bytes as u64
    }

    /// Writes a page. False: it could not be.
    fn write(&self, at: u64, page: &[u8]) -> bool {
        let mut inside = held(&self.0);
        let written =
            inside.file.seek(SeekFrom::Start(at)).and_then(|_| inside.file.write_all(page));
        if let Err(e) = written {
            inside.failed.get_or_insert(e.to_string());
            return false;
        }
        true
    }

    fn read(&self, at: u64, page: &mut [u8]) -> io::Result<()> {
        let mut inside = held(&self.0);
        inside.file.seek(SeekFrom::Start(at))?;
        inside.file.read_exact(page)
    }
}

/// No frame, no place.
const NONE: u32 = u32::MAX;
const NOWHERE: u64 = u64::MAX;

/// Initial value of an item that was never written.
type Made<T> = Box<dyn Fn(u64) -> T + Send + Sync>;

/// A list with some pages in memory.
pub struct Paged<T>(Mutex<Pages<T>>);

struct Pages<T> {
    file: PageFile,
    len: u64,
    /// Items of a page: a power of two.
    shift: u32,
    /// Pages that may be in memory.
    most: usize,
    made: Made<T>,
    pages: Vec<Page>,
    frames: Vec<Frame<T>>,
    /// Position of the search for a page to evict.
    hand: usize,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Page {
    /// In the file.
    place: u64,
    /// Items that it had when it was written: that of a list that grows was not full yet.
    written: u32,
    frame: u32,
}

impl Page {
    const NEW: Page = Page { place: NOWHERE, written: 0, frame: NONE };
}

/// A page in memory.
struct Frame<T> {
    page: u32,
    changed: bool,
    used: bool,
    items: Vec<T>,
}

impl<T: Flat> Pages<T> {
    /// Brings a page into memory. Returns its frame.
    #[cold]
    fn bring(&mut self, page: usize) -> usize {
        let at = match self.frames.len() < self.most {
            true => self.frames.len(),
            false => self.make_room().unwrap_or(self.frames.len()),
        };
        if at == self.frames.len() {
            self.frames.push(Frame {
                page: 0,
                changed: false,
                used: false,
                items: Vec::with_capacity(1 << self.shift),
            });
        }
        let first = (page as u64) << self.shift;
        let Page { place, written, .. } = self.pages[page];
        let frame = &mut self.frames[at];
        frame.items.clear();
        if place == NOWHERE {
            let end = (first + (1 << self.shift)).min(self.len.max(first + 1));
            frame.items.extend((first..end).map(|n| (self.made)(n)));
        } else {
            // The run cannot continue without data that it wrote to its own file.
            self.file
                .read(place, &mut self.bytes)
                .unwrap_or_else(|e| panic!("a page of the temporary file cannot be read: {e}"));
            frame
                .items
                .extend(self.bytes.chunks_exact(T::BYTES).take(written as usize).map(T::take));
        }
        (frame.page, frame.changed) = (page as u32, false);
        self.pages[page].frame = at as u32;
        at
    }

    /// A frame whose page has gone to the file; `None`: it could not be written.
    fn make_room(&mut self) -> Option<usize> {
        loop {
            self.hand = (self.hand + 1) % self.frames.len();
            let frame = &mut self.frames[self.hand];
            if std::mem::take(&mut frame.used) {
                continue;
            }
            let page = frame.page as usize;
            if frame.changed {
                if self.pages[page].place == NOWHERE {
                    self.pages[page].place = self.file.place(self.bytes.len());
                }
                let frame = &self.frames[self.hand];
                self.bytes
                    .chunks_exact_mut(T::BYTES)
                    .zip(&frame.items)
                    .for_each(|(to, item)| item.put(to));
                self.pages[page].written = frame.items.len() as u32;
                if !self.file.write(self.pages[page].place, &self.bytes) {
                    return None;
                }
            }
            self.pages[page].frame = NONE;
            return Some(self.hand);
        }
    }

    fn item(&mut self, at: u64, change: bool) -> &mut T {
        assert!(at < self.len, "item {at} of {}", self.len);
        let (page, within) = ((at >> self.shift) as usize, (at & ((1 << self.shift) - 1)) as usize);
        let frame = match self.pages[page].frame {
            NONE => self.bring(page),
            frame => frame as usize,
        };
        let Pages { frames, made, .. } = self;
        let frame = &mut frames[frame];
        frame.used = true;
        frame.changed |= change;
        // The list may have grown since the page was made.
        while frame.items.len() <= within {
            frame.items.push(made(at - (within - frame.items.len()) as u64));
        }
        &mut frame.items[within]
    }

    fn grow(&mut self, len: u64) {
        self.len = self.len.max(len);
        let pages = self.len.div_ceil(1 << self.shift) as usize;
        if self.pages.len() < pages {
            self.pages.resize(pages, Page::NEW);
        }
    }
}

impl<T: Flat> Paged<T> {
    /// A list of `len` items, each as `made` has it until something else is put in its place. At
    /// most `most` pages of `page` items are in memory (two at least).
    pub fn new(
        file: &PageFile,
        len: u64,
        (page, most): (usize, usize),
        made: impl Fn(u64) -> T + Send + Sync + 'static,
    ) -> Paged<T> {
        let page = page.next_power_of_two();
        let mut pages = Pages {
            file: file.clone(),
            len: 0,
            shift: page.trailing_zeros(),
            most: most.max(2),
            made: Box::new(made),
            pages: Vec::new(),
            frames: Vec::new(),
            hand: 0,
            bytes: vec![0; page * T::BYTES],
        };
        pages.grow(len);
        Paged(Mutex::new(pages))
    }

    /// Number of items.
    pub fn len(&self) -> u64 {
        held(&self.0).len
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An item.
    pub fn get(&self, at: u64) -> T {
        held(&self.0).item(at, false).clone()
    }

    /// Changes an item.
    pub fn update<R>(&self, at: u64, change: impl FnOnce(&mut T) -> R) -> R {
        change(held(&self.0).item(at, true))
    }

    /// An item, to change it.
    pub fn get_mut(&mut self, at: u64) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).item(at, true)
    }

    /// Adds an item at the end.
    pub fn push(&self, item: T) {
        let mut pages = held(&self.0);
        let at = pages.len;
        pages.grow(at + 1);
        *pages.item(at, true) = item;
    }

    /// Grows to at least `len` items.
    pub fn grow(&self, len: u64) {
        held(&self.0).grow(len);
    }

    /// Removes the items from `len` on; none of them was ever changed.
    pub fn truncate(&self, len: u64) {
        let mut pages = held(&self.0);
        pages.len = pages.len.min(len);
    }

    /// Items from `from` to before `to`, a page after the other.
    pub fn range(&self, from: u64, to: u64) -> impl Iterator<Item = T> + '_ {
        let shift = held(&self.0).shift;
        let mut at = from;
        std::iter::from_fn(move || {
            (at < to).then(|| {
                let end = (((at >> shift) + 1) << shift).min(to);
                let mut pages = held(&self.0);
                let page: Vec<T> = (at..end).map(|n| pages.item(n, false).clone()).collect();
                at = end;
                page
            })
        })
        .flatten()
    }
}

impl<T> std::fmt::Debug for Paged<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Paged({})", held(&self.0).len)
    }
}

/// A list, all in memory or in pages. Clones of a paged one are the same list.
#[derive(Clone, Debug)]
pub enum Items<T> {
    /// In memory.
    Kept(Vec<T>),
    /// In pages.
    Paged(Arc<Paged<T>>),
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Items::Kept(Vec::new())
    }
}

impl<T: Flat> Items<T> {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Items::Kept(all) => all.len(),
            Items::Paged(pages) => pages.len() as usize,
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An item.
    #[inline]
    pub fn get(&self, at: usize) -> T {
        match self {
            Items::Kept(all) => all[at].clone(),
            Items::Paged(pages) => pages.get(at as u64),
        }
    }

    /// Changes an item.
    #[inline]
    pub fn update<R>(&mut self, at: usize, change: impl FnOnce(&mut T) -> R) -> R {
        match self {
            Items::Kept(all) => change(&mut all[at]),
            Items::Paged(pages) => pages.update(at as u64, change),
        }
    }

    /// Puts an item in the place of another one.
    pub fn set(&mut self, at: usize, item: T) {
        self.update(at, |i| *i = item);
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        match self {
            Items::Kept(all) => all.push(item),
            Items::Paged(pages) => pages.push(item),
        }
    }

    /// Grows to at least `len` items; new ones are `item`, in pages the initial value of the list.
    pub fn grow(&mut self, len: usize, item: T) {
        match self {
            Items::Kept(all) => all.resize(len.max(all.len()), item),
            Items::Paged(pages) => pages.grow(len as u64),
        }
    }

    /// All items.
    pub fn iter(&self) -> Box<dyn Iterator<Item = T> + '_> {
        self.range(0, self.len())
    }

    /// Items from `from` to before `to`.
    pub fn range(&self, from: usize, to: usize) -> Box<dyn Iterator<Item = T> + '_> {
        match self {
            Items::Kept(all) => Box::new(all[from..to].iter().cloned()),
            Items::Paged(pages) => Box::new(pages.range(from as u64, to as u64)),
        }
    }
}

impl<T: Flat + PartialEq> PartialEq for Items<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// A list in pages is in no checkpoint: it would be as long as the list.
impl<T: Flat + Value> State for Items<T> {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        match self {
            Items::Kept(all) => all.walk(w),
            Items::Paged(_) => w.refuse("a list in a temporary file"),
        }
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        *self = Value::read(from)?;
        Ok(())
    }
}

impl<T: Flat + Value> Value for Items<T> {
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        Ok(Items::Kept(Vec::read(from)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Row {
        a: u32,
        b: Option<u64>,
        c: (u8, bool),
    }
    flat!(Row { a: u32, b: Option<u64>, c: (u8, bool) });

    fn file() -> PageFile {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NTH: AtomicU32 = AtomicU32::new(0);
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("xoff-pages-{}-{nth}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        PageFile::new(file)
    }

    #[test]
    fn a_value_comes_back_from_its_bytes() {
        assert_eq!(Row::BYTES, 4 + 9 + 2);
        for row in [Row { a: 7, b: Some(u64::MAX), c: (3, true) }, Row::default()] {
            let mut bytes = [1; Row::BYTES];
            row.put(&mut bytes);
            assert_eq!(Row::take(&bytes), row);
        }
    }

    /// A paged list against a vector, with reads, changes and growth anywhere; and only so many
    /// pages in memory.
    #[test]
    fn a_paged_list_holds_what_a_vector_does() {
        let file = file();
        let paged = Paged::new(&file, 1000, (16, 3), |n| Row { a: n as u32, ..Row::default() });
        let mut kept: Vec<Row> = (0..1000).map(|n| Row { a: n, ..Row::default() }).collect();
        let mut draw = 1u64;
        for step in 0..20_000u64 {
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (draw >> 33) as usize % kept.len();
            match draw >> 62 {
                0 => {
                    kept[at].b = Some(step);
                    paged.update(at as u64, |r| r.b = Some(step));
                }
                1 if step % 7 == 0 => {
                    kept.push(Row { c: (step as u8, true), ..Row::default() });
                    paged.push(Row { c: (step as u8, true), ..Row::default() });
                }
                2 if step % 97 == 0 => {
                    let len = kept.len() as u32;
                    kept.extend((len..len + 40).map(|n| Row { a: n, ..Row::default() }));
                    paged.grow(u64::from(len) + 40);
                }
                _ => assert_eq!(paged.get(at as u64), kept[at], "step {step}, item {at}"),
            }
        }
        assert!(kept.len() > 2000 && held(&paged.0).frames.len() == 3 && file.bytes() > 0);
        assert_eq!(paged.range(0, paged.len()).collect::<Vec<_>>(), kept);
        assert_eq!(paged.range(5, 50).collect::<Vec<_>>(), kept[5..50]);
        assert_eq!(Items::Paged(Arc::new(paged)), Items::Kept(kept));
    }

    /// A file that cannot be written costs memory, and no item.
    #[test]
    fn what_cannot_be_written_stays_in_memory() {
        let path =
            std::env::temp_dir().join(format!("xoff-pages-read-only-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let file = PageFile::new(File::open(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        let paged = Paged::new(&file, 0, (4, 2), |_| 0u64);
        (0..100).for_each(|n| paged.push(n));
        assert!(file.failed().is_some());
        assert_eq!(paged.range(0, 100).collect::<Vec<_>>(), (0..100).collect::<Vec<u64>>());
    }
}
