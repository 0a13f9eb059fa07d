//! Compression of checkpoints and of the rows next to them: zstd, and deflate in WebAssembly, for
//! which zstd's C sources are not compiled.

#[cfg(not(target_family = "wasm"))]
mod codec {
    use std::io;

    pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        zstd::bulk::compress(bytes, 1)
    }

    pub fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        zstd::stream::decode_all(bytes)
    }

    pub fn unpack_at_most(bytes: &[u8], max: usize) -> io::Result<Vec<u8>> {
        zstd::bulk::decompress(bytes, max)
    }
}

#[cfg(target_family = "wasm")]
mod codec {
    use std::io::{self, Read};

    use flate2::Compression;
    use flate2::read::{DeflateDecoder, DeflateEncoder};

    pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        read(DeflateEncoder::new(bytes, Compression::fast()))
    }

    pub fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        read(DeflateDecoder::new(bytes))
    }

    pub fn unpack_at_most(bytes: &[u8], max: usize) -> io::Result<Vec<u8>> {
        let all = read(DeflateDecoder::new(bytes).take(max as u64 + 1))?;
        if all.len() > max { Err(io::ErrorKind::InvalidData.into()) } else { Ok(all) }
    }

    fn read(mut from: impl Read) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        from.read_to_end(&mut all).map(|_| all)
    }
}

pub(super) use codec::{pack, unpack, unpack_at_most};
