//! Tests from outside: known frames, random values, random bytes, and an outside judge.

mod fuzz;
mod round_trip;
mod tshark;
mod vectors;
