//! The receive ring of a packet socket, shared with the kernel (TPACKET_V2).
//!
//! ```text
//!   block 0                                    block 1
//!   +--------+--------+-- ... --+------+      +--------+-- ...
//!   | place  | place  |         | rest |      | place
//!   +--------+--------+-- ... --+------+      +--------+-- ...
//!
//!   place:  tpacket2_hdr | sockaddr_ll | room for a tag | frame
//!             tp_status: 0 the kernel's, bit 0 ours; given back by writing 0
//! ```
//!
//! Version 2 and not 3: version 3 hands over whole blocks, when they are full or after a timeout of
//! at least 1 ms, which is a long time for a pause frame.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::tpacket2_hdr;

use super::set_option;

/// Alignment of the content of a place (TPACKET_ALIGNMENT) [bytes].
const ALIGNMENT: usize = 16;
/// Room kept before each frame, so that a VLAN tag can go back to where it was without moving the
/// payload [bytes].
const TAG_ROOM: usize = 4;
/// Largest offset of a frame in a slot: header and address (TPACKET2_HDRLEN), 16 for a link header,
/// the room for a tag [bytes].
const FRAME_AT: usize = (libc::TPACKET2_HDRLEN + 16).next_multiple_of(ALIGNMENT) + TAG_ROOM;
/// Smallest block: large enough for several frames of any usual MTU, small enough to be found in
/// fragmented memory [bytes].
const BLOCK_MIN: usize = 64 << 10;

/// Sizes of a ring [bytes], and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    place: usize,
    block: usize,
    blocks: usize,
}

impl Geometry {
    /// A ring of at least so many bytes for frames of at most `longest`.
    pub(crate) fn new(ring_bytes: usize, longest: usize) -> Geometry {
        let place = (FRAME_AT + longest).next_multiple_of(ALIGNMENT);
        // A power of two of at least 64 KiB is a multiple of every page size.
        let block = place.next_power_of_two().max(BLOCK_MIN);
        Geometry { place, block, blocks: ring_bytes.div_ceil(block).max(1) }
    }

    fn per_block(&self) -> usize {
        self.block / self.place
    }

    /// Frames that the ring holds.
    pub(crate) fn frames(&self) -> usize {
        self.per_block() * self.blocks
    }
}

/// A mapped ring. It stays mapped, and the kernel keeps the memory, for as long as this lives.
pub(crate) struct Ring {
    base: NonNull<u8>,
    geometry: Geometry,
    /// The place that is filled next.
    block: usize,
    place: usize,
}

// SAFETY: the mapping belongs to this value alone, and a mapping is not bound to the thread that
// made it.
unsafe impl Send for Ring {}

/// A frame in its place.
pub(crate) struct Arrived<'a> {
    /// Bytes from the room for a tag to the end of the captured part: the frame begins at
    /// [`TAG_ROOM`].
    bytes: &'a mut [u8],
    /// Length on the wire, without the tag that was taken out [bytes].
    pub(crate) length: usize,
    /// TP_STATUS_* bits.
    pub(crate) status: u32,
    /// PACKET_OUTGOING and the like.
    pub(crate) packet_type: u8,
    tci: u16,
    tpid: u16,
}

impl<'a> Arrived<'a> {
    /// The frame, its VLAN tag back in line; shorter than on the wire if it did not fit into its
    /// place.
    pub(crate) fn frame(self) -> &'a mut [u8] {
        if self.status & libc::TP_STATUS_VLAN_VALID == 0 || self.bytes.len() < TAG_ROOM + 12 {
            return &mut self.bytes[TAG_ROOM..];
        }
        // Kernels before 3.14 did not report which tag it was; then it was a customer's.
        let tpid = if self.status & libc::TP_STATUS_VLAN_TPID_VALID != 0 {
            self.tpid
        } else {
            crate::wire::vlan::C_TAG
        };
        self.bytes.copy_within(TAG_ROOM..TAG_ROOM + 12, 0);
        self.bytes[12..14].copy_from_slice(&tpid.to_be_bytes());
        self.bytes[14..16].copy_from_slice(&self.tci.to_be_bytes());
        self.bytes
    }

    /// Whether there was a tag.
    pub(crate) fn tagged(&self) -> bool {
        self.status & libc::TP_STATUS_VLAN_VALID != 0
    }

    /// Bytes captured, without the tag.
    pub(crate) fn captured(&self) -> usize {
        self.bytes.len() - TAG_ROOM
    }
}

impl Ring {
    /// Makes a socket's ring and maps it. The socket must not be bound yet: earlier frames would
    /// stay in its queue, unread.
    pub(crate) fn new(socket: &OwnedFd, geometry: Geometry) -> io::Result<Ring> {
        set_option(
            socket,
            libc::PACKET_VERSION,
            libc::tpacket_versions::TPACKET_V2 as libc::c_int,
        )?;
        set_option(socket, libc::PACKET_RESERVE, TAG_ROOM as libc::c_uint)?;
        let request = libc::tpacket_req {
            tp_block_size: geometry.block as libc::c_uint,
            tp_block_nr: geometry.blocks as libc::c_uint,
            tp_frame_size: geometry.place as libc::c_uint,
            tp_frame_nr: geometry.frames() as libc::c_uint,
        };
        set_option(socket, libc::PACKET_RX_RING, request)?;
        let len = geometry.block * geometry.blocks;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), len, protection, flags, socket.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Ring { base, geometry, block: 0, place: 0 })
    }

    /// Hands the next frame to `f`, if one has arrived, then gives its place back to the kernel.
    pub(crate) fn take(&mut self, f: impl FnOnce(Arrived<'_>)) -> bool {
        let Geometry { place: size, block, blocks } = self.geometry;
        // SAFETY: block < blocks and place < per_block, so the whole place is within the mapping.
        let at = unsafe { self.base.add(self.block * block + self.place * size) };
        // SAFETY: tp_status is a u32 at the beginning of a place, which is aligned to 16; the
        // kernel writes it, so it is atomic here.
        let status = unsafe {
            AtomicU32::from_ptr(at.add(offset_of!(tpacket2_hdr, tp_status)).cast().as_ptr())
        };
        // Acquire: header and frame were written before the kernel set the status.
        let now = status.load(Ordering::Acquire);
        if now & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the place is ours until its status is written; its first bytes are a
        // tpacket2_hdr, integers without invalid values.
        let header = unsafe { at.cast::<tpacket2_hdr>().read() };
        // SAFETY: behind the header, aligned to 16, is a sockaddr_ll, of which any bits are a valid
        // value.
        let address = unsafe {
            at.add(size_of::<tpacket2_hdr>().next_multiple_of(ALIGNMENT))
                .cast::<libc::sockaddr_ll>()
                .read_unaligned()
        };
        // The kernel keeps these within the place; the slice must not depend on it.
        let from =
            usize::from(header.tp_mac).clamp(size_of::<tpacket2_hdr>() + TAG_ROOM, size) - TAG_ROOM;
        let captured = (header.tp_snaplen as usize).min(size - from - TAG_ROOM);
        // SAFETY: from + TAG_ROOM + captured <= size, so the bytes are within the place, behind its
        // header; until the status is written nothing else reads or writes them, and the borrow
        // ends before that.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(at.add(from).as_ptr(), TAG_ROOM + captured) };
        f(Arrived {
            bytes,
            length: header.tp_len as usize,
            status: now,
            packet_type: address.sll_pkttype,
            tci: header.tp_vlan_tci,
            tpid: header.tp_vlan_tpid,
        });
        // Release: everything was read before the kernel may write again.
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.place += 1;
        if self.place == self.geometry.per_block() {
            self.place = 0;
            self.block = (self.block + 1) % blocks;
        }
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made; no borrow of it outlives this value.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.geometry.block * self.geometry.blocks)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_as_large_as_asked_and_made_of_whole_blocks() {
        for mtu in [68, 1500, 4096, 9000, 65535] {
            for bytes in [0, 1 << 16, 2 << 20, 100_000_000] {
                let g = Geometry::new(bytes, mtu + 18);
                assert!(g.block * g.blocks >= bytes && g.frames() >= 1, "{g:?}");
                assert!(
                    g.place >= FRAME_AT + mtu + 18 && g.place.is_multiple_of(ALIGNMENT),
                    "{g:?}"
                );
                assert!(
                    g.block.is_power_of_two() && g.block.is_multiple_of(4096) && g.block >= g.place,
                    "{g:?}"
                );
            }
        }
        // 1500 bytes of MTU in 4 MiB: 2560 frames.
        assert_eq!(Geometry::new(4 << 20, 1518).frames(), 2560);
    }

    #[test]
    fn a_tag_goes_back_in_line() {
        let frame = |status| {
            let mut place: Vec<u8> = (0..TAG_ROOM as u8 + 60).collect();
            Arrived {
                bytes: &mut place,
                length: 60,
                status,
                packet_type: 0,
                tci: 0xE123,
                tpid: 0x88A8,
            }
            .frame()
            .to_vec()
        };
        let both = frame(libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID);
        assert_eq!(frame(0), (4..64).collect::<Vec<u8>>());
        assert_eq!(
            (&both[10..18], both.len()),
            (&[14, 15, 0x88, 0xA8, 0xE1, 0x23, 16, 17][..], 64)
        );
        assert_eq!(
            frame(libc::TP_STATUS_VLAN_VALID)[10..18],
            [14, 15, 0x81, 0, 0xE1, 0x23, 16, 17]
        );
    }
}
