//! One file per suite: how its cases are read and judged.

pub mod rdfa;
