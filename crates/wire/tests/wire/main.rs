//! Tests from outside: known frames, random values, random bytes, and an outside judge.

mod frames;
mod round_trip;
mod soup;
mod tshark;
mod vectors;
