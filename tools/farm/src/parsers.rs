//! Every parser of wire formats, on any bytes: each gives a struct that can be written and read
//! again, or a refusal that can be printed.

use xoff_real::wire::ecn::{self, Ecn};
use xoff_real::wire::ethernet;
use xoff_real::wire::local::{Message, Subtype};
use xoff_real::wire::{
    Malformed, Unfit, cbfc, control, gfc, ipv4, ipv6, mac_control, pffc, test_frame, vlan,
};

use crate::frames::frames;

/// An error names the field and the reason.
fn reported(e: Malformed) {
    assert!(e.to_string().len() > 10, "{e}");
}

/// Checks that a value that was read, then written, is read again as the same value.
macro_rules! again {
    ($t:ty, $parse:ident, $emit:ident, $bytes:expr) => {
        match <$t>::$parse($bytes) {
            Ok(repr) => {
                // An IP header announces what is longer than any of these.
                let (mut short, mut long) = ([0xEE; 512], Vec::new());
                let out = if $bytes.len() <= short.len() {
                    &mut short[..]
                } else {
                    long.resize($bytes.len(), 0xEE);
                    &mut long
                };
                let len = repr.$emit(out).unwrap_or_else(|e| panic!("{repr:?}: {e}"));
                // An IP header announces a payload that is not written with it.
                let rest = $bytes.len().max(len);
                assert_eq!(<$t>::$parse(&out[..rest]), Ok(repr));
                assert!(matches!(repr.$emit(&mut out[..len - 1]), Err(Unfit::Room { .. })));
            }
            Err(e) => reported(e),
        }
    };
}

/// Every reader of the crate, on the same bytes.
///
/// # Panics
/// The parsed value cannot be written, or is read again differently.
pub fn all_parsers(bytes: &[u8]) {
    again!(ethernet::Repr, parse, emit, bytes);
    again!(vlan::Tag, parse, emit, bytes);
    again!(mac_control::Repr, parse, emit, bytes);
    again!(cbfc::LinkPacket, parse, emit, bytes);
    again!(cbfc::LinkPacket, parse_local, emit_local, bytes);
    again!(cbfc::Wide, parse, emit, bytes);
    again!(gfc::Repr, parse, emit, bytes);
    again!(pffc::Repr, parse, emit, bytes);
    again!(test_frame::Repr, parse, emit, bytes);
    again!(Message, parse, emit, bytes);
    again!(ipv4::Repr, parse, emit, bytes);
    again!(ipv6::Repr, parse, emit, bytes);
    let _ = (
        Subtype::parse(bytes).map_err(reported),
        control::parse(bytes).map_err(reported),
        vlan::inner(bytes).map_err(reported),
    );
    vlan::outer(bytes);
    changed_in_place(bytes);
}

/// Checks that a rewrite of bytes in place leaves a frame that is read as before, except for the
/// intended change.
fn changed_in_place(bytes: &[u8]) {
    let mut buf = bytes.to_vec();
    match (ecn::of_frame(bytes), ecn::rewrite_frame(&mut buf, Ecn::with_ce)) {
        (Ok(Some(before)), Ok(Some(same))) => {
            assert_eq!((before, ecn::of_frame(&buf)), (same, Ok(Some(before.with_ce()))));
            ecn::rewrite_frame(&mut buf, |_| before).unwrap();
            let at = vlan::inner(bytes).unwrap().1;
            let right = ipv4::Packet::new(&bytes[at..]).is_ok_and(|p| p.check().is_ok());
            // A checksum of 0xFFFF comes back as 0x0000, the same number in ones' complement.
            assert!(
                buf == bytes
                    || ipv4::Packet::new(&buf[at..]).is_ok_and(|p| p.check().is_ok() == right)
            );
        }
        (before, after) => assert_eq!(before.map_err(reported), after.map_err(reported)),
    }
    let mut buf = bytes.to_vec();
    buf.extend([0; 8]);
    if let Ok((tag, len)) = vlan::pop(&mut buf, bytes.len()) {
        assert_eq!(vlan::push(&mut buf, len, tag), Ok(bytes.len()));
        assert_eq!(&buf[..bytes.len()], bytes);
    }
    assert_eq!(vlan::restore(&mut buf, bytes.len(), 0x6001, None).is_ok(), bytes.len() >= 12);
    if bytes.len() >= 12 {
        assert_eq!(vlan::outer(&buf).map(|t| (t.pcp, t.vid)), Some((3, 1)));
    }
    let _ = test_frame::stamp(&mut buf, 1).map_err(reported);
}

/// Bytes of every valid frame, from each place where one of its formats begins.
pub fn valid() -> Vec<Vec<u8>> {
    let mut all = frames();
    let inner: Vec<Vec<u8>> =
        all.iter().flat_map(|f| [14, 18].map(|at| f[at..].to_vec())).collect();
    all.extend(inner);
    let mut link = vec![0; 6];
    cbfc::LinkPacket { op: cbfc::Op::Init, fctbs: 1, vl: 0, fccl: 2 }.emit(&mut link).unwrap();
    all.push(link);
    let mut tag = vec![0; 4];
    vlan::Tag { tpid: vlan::S_TAG, pcp: 3, dei: true, vid: 5 }.emit(&mut tag).unwrap();
    all.push(tag);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The farm's own buffer had 512 bytes once.
    #[test]
    fn bytes_of_any_length_are_read() {
        [0, 13, 511, 512, 513, 2000].into_iter().for_each(|len| all_parsers(&vec![0; len]));
    }
}
