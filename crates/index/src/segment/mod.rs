//! Segments: immutable files that hold quads, their terms and the names of their graphs.
//!
//! [`format`] says how the bytes lie, [`pack`] how rows are squeezed into blocks, [`build`] makes a
//! segment from a batch, [`merge`] one from several, both by means of [`write`], and [`read`] answers questions about one. A segment
//! knows nothing of its neighbours: which of its graphs are still current is for the [view](crate::view).

pub(crate) mod build;
pub(crate) mod format;
pub(crate) mod merge;
pub(crate) mod pack;
pub(crate) mod read;
pub(crate) mod write;

pub(crate) use read::Segment;
