//! Captures: frames that passed the ports, in a file that other programs read (pcapng,
//! draft-ietf-opsawg-pcapng).
//!
//! ```text
//!   section header        comment, application
//!   interface 0           Ethernet, name, snap length, time in ns     one a port, in the order given
//!   interface 1 ...
//!   packet                interface, time, length on the wire, bytes, inbound or outbound
//!   packet ...
//!   interface statistics  comment: number of packets, bytes and hash  if it is sealed
//! ```
//!
//! The hash covers every byte in front of the last block. It has no key: it finds damage, and no
//! forger.
//!
//! The blocks are written and read by the crate `pcap-file`, whose packets have their times in the
//! unit of the file: here always ns when written, and brought to ns when read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use xxhash_rust::xxh3::Xxh3Default;

/// if_tsresol: a power of ten, 10^-9 s.
const NANOSECONDS: u8 = 9;
/// if_tsresol: 10^-12 s.
const PICOSECONDS: u8 = 12;
/// if_tsresol where an interface has none: microseconds (section 4.2).
const TSRESOL_DEFAULT: u8 = 6;
/// Bits 0 and 1 of epb_flags (section 4.3.1).
const DIRECTION: u32 = 0b11;

/// Direction of a frame at its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The frame arrived.
    Inbound,
    /// The frame was sent.
    Outbound,
}

/// Settings of a [`Capture`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Comment in the file's first block: the command that was run. Default: none.
    pub comment: Option<String>,
    /// Number of bytes that are kept of each frame; 0: all. Default 0.
    pub snap_length: u32,
    /// Bytes that may wait to be written. Default 1 MiB.
    pub buffer_bytes: usize,
    /// Times are picoseconds instead of nanoseconds: for simulated links, whose time begins with
    /// the run. Default: nanoseconds.
    pub picoseconds: bool,
    /// Rates of the ports [bit/s], in their order; ports without one have none in the file.
    /// Default: none.
    pub speeds: Vec<u64>,
    /// [`Capture::finish`] writes the number of frames and a hash of all bytes behind them, so that a
    /// reader knows whether it has all of them. Default: no.
    pub sealed: bool,
}

/// Hash of bytes that pass by, and their number.
#[derive(Clone, Default)]
struct Sum {
    bytes: u64,
    hash: Xxh3Default,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
    }

    /// The last block of a capture with these bytes in front of it: interface statistics with a
    /// comment and nothing else (sections 3.5 and 4.6).
    fn end(&self, frames: u64) -> Vec<u8> {
        let mut text = format!(
            "{END} {frames} frames, {} bytes, xxh3 {:032x}",
            self.bytes,
            self.hash.digest128()
        )
        .into_bytes();
        let comment = 1 | (text.len() as u32) << 16;
        text.resize(text.len().next_multiple_of(4), 0);
        let len = text.len() as u32 + 32;
        // Type, length, interface, time, option; comment; end of options, length.
        let numbers = |all: &[u32]| all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
        [numbers(&[5, len, 0, 0, 0, comment]), text, numbers(&[0, len])].concat()
    }
}

/// Start of the comment of the last block.
const END: &str = "xoff: end of";
/// Longest last block: 32 bytes around its comment and padding, with two numbers of 20 digits.
const END_MAX: usize = 160;

/// Bytes that are written, and their sum.
struct Summed<W> {
    to: W,
    sum: Option<Sum>,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.to.write(bytes)?;
        if let Some(sum) = &mut self.sum {
            sum.add(&bytes[..n]);
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Bytes that are read, the last of them held back from the sum.
struct Ending<R> {
    from: R,
    sum: Sum,
    held: Vec<u8>,
}

impl<R: Read> Read for Ending<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        self.held.extend_from_slice(&to[..n]);
        let over = self.held.len().saturating_sub(END_MAX);
        self.sum.add(&self.held[..over]);
        self.held.drain(..over);
        Ok(n)
    }
}

impl<R> Ending<R> {
    /// Whether all that was read ends with the last block of a capture of `frames` frames.
    fn is_end(&self, frames: u64) -> bool {
        let Some(len) = self.held.last_chunk().map(|len| u32::from_le_bytes(*len) as usize) else {
            return false;
        };
        let Some(before) = self.held.len().checked_sub(len) else { return false };
        let mut sum = self.sum.clone();
        sum.add(&self.held[..before]);
        sum.end(frames) == self.held[before..]
    }
}

/// Whether a capture holds all frames that were written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// It has no seal: it was cut, its writer was killed, or it never had one.
    #[default]
    Unknown,
    /// Every byte is one that was written.
    Yes,
    /// Its bytes are others than those that were written.
    Changed,
}

impl Default for CaptureOptions {
    fn default() -> CaptureOptions {
        CaptureOptions {
            comment: None,
            snap_length: 0,
            buffer_bytes: 1 << 20,
            picoseconds: false,
            speeds: Vec::new(),
            sealed: false,
        }
    }
}

/// A capture being written.
///
/// What waits in its buffer is written when it is finished or dropped, so also when a program that
/// catches Ctrl-C leaves its loop. Only [`Capture::finish`] returns whether that succeeded. After
/// an error, such as a full disk, nothing more is written and every call reports it.
pub struct Capture<W: Write = File> {
    writer: Option<PcapNgWriter<BufWriter<Summed<W>>>>,
    ports: usize,
    snap_length: usize,
    frames: u64,
    failed: Option<(io::ErrorKind, String)>,
}

impl Capture<File> {
    /// Creates a capture file, or empties an old one, for ports of these names. Port 0 is the first
    /// of them.
    pub fn create(
        path: impl AsRef<Path>,
        ports: &[&str],
        options: &CaptureOptions,
    ) -> io::Result<Capture<File>> {
        Capture::new(File::create(path)?, ports, options)
    }
}

impl<W: Write> Capture<W> {
    /// A capture into anything that takes bytes.
    pub fn new(to: W, ports: &[&str], options: &CaptureOptions) -> io::Result<Capture<W>> {
        let mut about = vec![SectionHeaderOption::UserApplication(Cow::Borrowed("xoff"))];
        about.extend(options.comment.clone().map(|c| SectionHeaderOption::Comment(Cow::Owned(c))));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: about,
            ..Default::default()
        };
        let to = Summed { to, sum: options.sealed.then(Sum::default) };
        let buffered = BufWriter::with_capacity(options.buffer_bytes, to);
        let mut writer = PcapNgWriter::with_section_header(buffered, section).map_err(plain)?;
        for (at, port) in ports.iter().enumerate() {
            let mut options_of = vec![
                InterfaceDescriptionOption::IfName(Cow::Owned((*port).to_owned())),
                InterfaceDescriptionOption::IfTsResol(if options.picoseconds {
                    PICOSECONDS
                } else {
                    NANOSECONDS
                }),
            ];
            options_of.extend(
                options.speeds.get(at).map(|speed| InterfaceDescriptionOption::IfSpeed(*speed)),
            );
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: options.snap_length,
                options: options_of,
            };
            writer.write_pcapng_block(interface).map_err(plain)?;
        }
        let snap_length =
            if options.snap_length == 0 { usize::MAX } else { options.snap_length as usize };
        Ok(Capture {
            writer: Some(writer),
            ports: ports.len(),
            snap_length,
            frames: 0,
            failed: None,
        })
    }

    /// Writes a frame that passed a port at a time [ns since 1970; ps with
    /// [`CaptureOptions::picoseconds`]]. Frames are best written in the order of time, but need not
    /// be.
    pub fn write(
        &mut self,
        time: u64,
        port: usize,
        direction: Direction,
        frame: &[u8],
    ) -> io::Result<()> {
        if port >= self.ports {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("capture: port {port} of {}", self.ports),
            ));
        }
        let flags = match direction {
            Direction::Inbound => 0b01,
            Direction::Outbound => 0b10,
        };
        let packet = EnhancedPacketBlock {
            interface_id: port as u32,
            timestamp: Duration::from_nanos(time), // the crate takes units for nanoseconds
            original_len: frame.len() as u32,
            data: Cow::Borrowed(&frame[..frame.len().min(self.snap_length)]),
            options: vec![EnhancedPacketOption::Flags(flags)],
        };
        self.frames += 1;
        self.with_writer(|writer| writer.write_pcapng_block(packet).map(drop).map_err(plain))
    }

    /// Writes the buffered bytes.
    pub fn flush(&mut self) -> io::Result<()> {
        self.with_writer(|writer| writer.get_mut().flush())
    }

    /// Writes the buffered bytes, and ends the capture.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        let sum = self.writer.as_mut().and_then(|w| w.get_mut().get_mut().sum.take());
        if let Some(sum) = sum.filter(|_| self.ports > 0) {
            let end = sum.end(self.frames);
            self.with_writer(|writer| writer.get_mut().write_all(&end))?;
        }
        self.flush()?;
        let writer = self
            .writer
            .take()
            .ok_or_else(|| io::Error::other("capture: the file is already complete"))?;
        let summed = writer.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(summed.to)
    }

    fn with_writer(
        &mut self,
        f: impl FnOnce(&mut PcapNgWriter<BufWriter<Summed<W>>>) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some((kind, text)) = &self.failed {
            return Err(io::Error::new(*kind, text.clone()));
        }
        let Some(writer) = &mut self.writer else {
            return Err(io::Error::other("capture: the file is already complete"));
        };
        let done = f(writer);
        if let Err(e) = &done {
            self.failed = Some((e.kind(), format!("capture: {e}")));
        }
        done
    }
}

impl<W: Write> Drop for Capture<W> {
    fn drop(&mut self) {
        // The buffer is part of `writer` and would be written by its own drop; after an error it
        // may hold half a block, which is not.
        match self.writer.take() {
            Some(writer) if self.failed.is_some() => drop(writer.into_inner().into_parts()),
            other => drop(other),
        }
    }
}

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Time at the port [ns since 1970].
    pub time_ns: u64,
    /// Number of the interface in the file; [`CaptureReader::ports`] has their names.
    pub port: usize,
    /// Direction; `None` if the file has none.
    pub direction: Option<Direction>,
    /// Length on the wire [bytes].
    pub original_len: u32,
    /// Captured bytes.
    pub bytes: Vec<u8>,
}

/// Reads captures, ours and others': an iterator over frames.
pub struct CaptureReader<R: Read = File> {
    reader: PcapNgReader<Ending<R>>,
    ended: bool,
    frames: u64,
    whole: Whole,
}

impl CaptureReader<File> {
    /// Opens a file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<CaptureReader<File>> {
        CaptureReader::new(File::open(path)?)
    }
}

impl<R: Read> CaptureReader<R> {
    /// Reads from anything that gives bytes.
    pub fn new(from: R) -> io::Result<CaptureReader<R>> {
        let from = Ending { from, sum: Sum::default(), held: Vec::new() };
        let reader = PcapNgReader::new(from).map_err(plain)?;
        Ok(CaptureReader { reader, ended: false, frames: 0, whole: Whole::Unknown })
    }

    /// Whether the bytes of the capture are those that were written; known after the last frame.
    pub fn whole(&self) -> Whole {
        self.whole
    }

    /// Comment of the section that was begun last.
    pub fn comment(&self) -> Option<&str> {
        self.reader.section().options.iter().find_map(|o| match o {
            SectionHeaderOption::Comment(text) => Some(text.as_ref()),
            _ => None,
        })
    }

    /// Names of the interfaces read so far; in our own files all of them are known once the first
    /// frame was read.
    pub fn ports(&self) -> Vec<String> {
        let name = |interface: &InterfaceDescriptionBlock| {
            interface.options.iter().find_map(|o| match o {
                InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                _ => None,
            })
        };
        self.reader.interfaces().iter().map(|i| name(i).unwrap_or_default()).collect()
    }

    fn read(&mut self) -> Option<io::Result<Captured>> {
        loop {
            let Some(next) = self.reader.next_block() else {
                if self.reader.get_ref().is_end(self.frames) {
                    self.whole = Whole::Yes;
                }
                return None;
            };
            let packet = match next {
                Ok(Block::EnhancedPacket(packet)) => packet.into_owned(),
                Ok(Block::InterfaceStatistics(end)) => {
                    // An end that is not at the end, or of other bytes.
                    let is_end = |o: &InterfaceStatisticsOption| matches!(o, InterfaceStatisticsOption::Comment(text) if text.starts_with(END));
                    if end.options.iter().any(is_end) {
                        self.whole = Whole::Changed;
                    }
                    continue;
                }
                Ok(_) => continue,
                Err(e) => return Some(Err(plain(e))),
            };
            let Some(interface) = self.reader.interfaces().get(packet.interface_id as usize) else {
                let text = format!(
                    "capture: a packet of interface {}, which has no description",
                    packet.interface_id
                );
                return Some(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
            };
            let resolution = interface.options.iter().find_map(|o| match o {
                InterfaceDescriptionOption::IfTsResol(r) => Some(*r),
                _ => None,
            });
            // The crate takes units for nanoseconds.
            let units = packet.timestamp.as_nanos() as u64;
            let flags = packet.options.iter().find_map(|o| match o {
                EnhancedPacketOption::Flags(flags) => Some(*flags),
                _ => None,
            });
            self.frames += 1;
            return Some(Ok(Captured {
                time_ns: to_ns(units, resolution.unwrap_or(TSRESOL_DEFAULT)),
                port: packet.interface_id as usize,
                direction: match flags.unwrap_or(0) & DIRECTION {
                    0b01 => Some(Direction::Inbound),
                    0b10 => Some(Direction::Outbound),
                    _ => None,
                },
                original_len: packet.original_len,
                bytes: packet.data.into_owned(),
            }));
        }
    }
}

impl<R: Read> Iterator for CaptureReader<R> {
    type Item = io::Result<Captured>;

    fn next(&mut self) -> Option<io::Result<Captured>> {
        if self.ended {
            return None;
        }
        let item = self.read();
        // An error is the last item: behind it nothing can be found again.
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

/// Time in units of if_tsresol (its upper bit: a power of two instead of ten), brought to ns, cut
/// off at the largest.
fn to_ns(units: u64, resolution: u8) -> u64 {
    let (exponent, base) =
        (u32::from(resolution & 0x7F), if resolution & 0x80 == 0 { 10u128 } else { 2 });
    // Finer than anything measured: the unit is so small that the time is that of 1970.
    let Some(per_second) = base.checked_pow(exponent) else { return 0 };
    let (seconds, rest) = (u128::from(units) / per_second, u128::from(units) % per_second);
    // The rest is below 2^64, so this fits.
    u64::try_from(seconds * 1_000_000_000 + rest * 1_000_000_000 / per_second).unwrap_or(u64::MAX)
}

/// The crate's errors as those of the file.
fn plain(e: PcapError) -> io::Error {
    match e {
        PcapError::IoError(e) => e,
        PcapError::IncompleteBuffer => {
            io::Error::new(io::ErrorKind::UnexpectedEof, "capture: ends within a block")
        }
        other => io::Error::new(io::ErrorKind::InvalidData, format!("capture: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::process::Command;
    use std::rc::Rc;

    use super::*;

    /// 2026-01-02 03:04:05.123456789 UTC.
    const WHEN: u64 = 1_767_323_045_123_456_789;

    fn frame(len: usize) -> Vec<u8> {
        let mut frame: Vec<u8> = (0..len).map(|i| i as u8).collect();
        frame[12..14].copy_from_slice(&[0x88, 0xB5]);
        frame
    }

    fn options() -> CaptureOptions {
        CaptureOptions {
            comment: Some("ring, 3 switches".into()),
            snap_length: 100,
            ..Default::default()
        }
    }

    fn fill<W: Write>(capture: &mut Capture<W>) {
        capture.write(WHEN, 0, Direction::Inbound, &frame(60)).unwrap();
        capture.write(WHEN + 1, 1, Direction::Outbound, &frame(1514)).unwrap();
        capture.write(WHEN + 2_000_000_000, 1, Direction::Inbound, &frame(61)).unwrap();
    }

    fn captured(time_ns: u64, port: usize, direction: Direction, len: usize) -> Captured {
        let mut bytes = frame(len);
        bytes.truncate(100);
        Captured { time_ns, port, direction: Some(direction), original_len: len as u32, bytes }
    }

    fn expected() -> Vec<Captured> {
        vec![
            captured(WHEN, 0, Direction::Inbound, 60),
            captured(WHEN + 1, 1, Direction::Outbound, 1514),
            captured(WHEN + 2_000_000_000, 1, Direction::Inbound, 61),
        ]
    }

    /// Before: half a capture, and one whose frames were changed, were taken for all of it.
    #[test]
    fn a_sealed_capture_knows_whether_it_is_whole() {
        let sealed = CaptureOptions { sealed: true, ..options() };
        let mut capture = Capture::new(Vec::new(), &["veth0", "veth1"], &sealed).unwrap();
        fill(&mut capture);
        let bytes = capture.finish().unwrap();
        let whole = |bytes: &[u8]| {
            let mut reader = CaptureReader::new(bytes).unwrap();
            let read: io::Result<Vec<_>> = reader.by_ref().collect();
            read.map(|frames| (frames.len(), reader.whole()))
        };
        assert_eq!(whole(&bytes).unwrap(), (3, Whole::Yes));
        // Blocks end with their length; the last is the seal, the one before it a frame.
        let length = |end: usize| u32::from_le_bytes(bytes[end - 4..end].try_into().unwrap());
        let seal = bytes.len() - length(bytes.len()) as usize;
        let last = seal - length(seal) as usize;
        assert_eq!(whole(&bytes[..seal]).unwrap(), (3, Whole::Unknown));
        assert_eq!(whole(&[&bytes[..last], &bytes[seal..]].concat()).unwrap(), (2, Whole::Changed));
        assert_eq!(whole(&[&bytes[..], &bytes[last..seal]].concat()).unwrap(), (4, Whole::Changed));
        // Any bit of a frame's bytes: packets have 28 bytes in front of them.
        let flipped = |bit: usize| {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            other
        };
        for bit in (last + 28) * 8..(last + 28 + 61) * 8 {
            assert_eq!(whole(&flipped(bit)).unwrap(), (3, Whole::Changed), "bit {bit}");
        }
        // Any bit at all. Before, a changed scenario or padding was whole.
        for bit in 0..bytes.len() * 8 {
            let other = flipped(bit);
            let Ok(mut reader) = CaptureReader::new(&other[..]) else { continue };
            let read: io::Result<Vec<_>> = reader.by_ref().collect();
            assert!(read.is_err() || reader.whole() != Whole::Yes, "bit {bit}");
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let mut capture = Capture::new(Vec::new(), &["veth0", "veth1"], &options()).unwrap();
        fill(&mut capture);
        assert_eq!(
            capture.write(0, 2, Direction::Inbound, &[]).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        let bytes = capture.finish().unwrap();
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        assert_eq!(reader.by_ref().collect::<io::Result<Vec<_>>>().unwrap(), expected());
        assert_eq!(
            (reader.comment(), reader.ports()),
            (Some("ring, 3 switches"), vec!["veth0".to_owned(), "veth1".to_owned()])
        );
        // Cut off anywhere, it gives the whole frames, then at most one error.
        for len in 0..bytes.len() {
            let Ok(reader) = CaptureReader::new(&bytes[..len]) else { continue };
            let items: Vec<_> = reader.collect();
            let good = items.iter().take_while(|i| i.is_ok()).count();
            assert!(good < 3 && items.len() <= good + 1, "{len}");
        }
    }

    #[test]
    fn nothing_is_lost_when_it_is_dropped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut capture = Capture::create(file.path(), &["a", "b"], &options()).unwrap();
        fill(&mut capture);
        assert_eq!(file.as_file().metadata().unwrap().len(), 0, "it is buffered");
        drop(capture);
        assert_eq!(
            CaptureReader::open(file.path()).unwrap().collect::<io::Result<Vec<_>>>().unwrap(),
            expected()
        );
    }

    #[test]
    fn no_more_waits_than_the_buffer_holds() {
        #[derive(Clone, Default)]
        struct Shared(Rc<RefCell<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.borrow_mut().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let shared = Shared::default();
        let mut capture = Capture::new(
            shared.clone(),
            &["a"],
            &CaptureOptions { buffer_bytes: 4096, ..Default::default() },
        )
        .unwrap();
        for n in 0..100 {
            capture.write(n, 0, Direction::Inbound, &frame(1000)).unwrap();
            assert!(shared.0.borrow().len() + 4096 >= 1000 * (n as usize + 1));
        }
        capture.flush().unwrap();
        assert_eq!(CaptureReader::new(&shared.0.borrow()[..]).unwrap().count(), 100);
    }

    /// /dev/full takes nothing: the disk that is full.
    #[test]
    fn a_full_disk_is_an_error_and_stays_one() {
        let mut capture = Capture::create(
            "/dev/full",
            &["a"],
            &CaptureOptions { buffer_bytes: 4096, ..Default::default() },
        )
        .unwrap();
        let error = (0..100)
            .find_map(|n| capture.write(n, 0, Direction::Inbound, &frame(1000)).err())
            .unwrap();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(
            capture.write(0, 0, Direction::Inbound, &frame(60)).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        assert_eq!(capture.finish().map(drop).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn times_come_in_many_units() {
        assert_eq!(to_ns(1_500_000, 6), 1_500_000_000);
        assert_eq!(to_ns(WHEN, 9), WHEN);
        assert_eq!(to_ns(1_500, 12), 1);
        assert_eq!(to_ns(3, 0x80 | 1), 1_500_000_000);
        assert_eq!(to_ns(3, 0), 3_000_000_000);
        assert_eq!((to_ns(u64::MAX, 0), to_ns(1, 127), to_ns(1, 0xFF)), (u64::MAX, 0, 0));
    }

    /// The independent packet capture.
    #[test]
    fn tshark_reads_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut capture = Capture::create(file.path(), &["veth0", "veth1"], &options()).unwrap();
        fill(&mut capture);
        capture.finish().unwrap();
        let fields = [
            "frame.time_epoch",
            "frame.interface_name",
            "frame.packet_flags_direction",
            "frame.len",
            "frame.cap_len",
            "eth.type",
        ];
        let mut tshark = Command::new("tshark");
        tshark
            .arg("-r")
            .arg(file.path())
            .args(["-T", "fields"])
            .args(fields.iter().flat_map(|f| ["-e", f]));
        let output = match tshark.output() {
            Ok(output) => output,
            Err(e) => return xoff_testing::skip("tshark", e),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        let row = |time: &'static str, port, direction, len, kept| {
            vec![time, port, direction, len, kept, "0x88b5"]
        };
        let expected = [
            row("1767323045.123456789", "veth0", "1", "60", "60"),
            row("1767323045.123456790", "veth1", "2", "1514", "100"),
            row("1767323047.123456789", "veth1", "1", "61", "61"),
        ];
        for (row, expected) in rows.iter().zip(&expected) {
            // Versions differ in how they write the direction: a number in either base.
            let direction = u32::from_str_radix(row[2].trim_start_matches("0x"), 16).ok();
            assert_eq!(
                (row[0], row[1], direction, &row[3..5]),
                (expected[0], expected[1], expected[2].parse().ok(), &expected[3..5])
            );
            assert_eq!(u32::from_str_radix(row[5].trim_start_matches("0x"), 16), Ok(0x88B5));
        }
        assert_eq!(rows.len(), 3, "{text}{}", String::from_utf8_lossy(&output.stderr));
    }
}
