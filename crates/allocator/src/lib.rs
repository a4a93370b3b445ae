#![doc = include_str!("../README.md")]

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys as mimalloc;

/// Every block of at least this size is aligned to it.
const WIDE: usize = 16;

/// See the crate's own words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Allocator;

/// True when any block of that size is aligned well enough.
fn is_aligned_anyway(size: usize, align: usize) -> bool {
    align <= size_of::<usize>() || (align <= WIDE && size >= WIDE)
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: mimalloc gives blocks of at least the size asked for, which nobody else has until they are freed, or null; it does not
// unwind. Blocks are aligned as `is_aligned_anyway` says, else the alignment is asked for. Memory from either call may be given to
// either of the others.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size and any power of two may be asked for.
        unsafe {
            match is_aligned_anyway(size, align) {
                true => mimalloc::mi_malloc(size).cast(),
                false => mimalloc::mi_malloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size and any power of two may be asked for.
        unsafe {
            match is_aligned_anyway(size, align) {
                true => mimalloc::mi_zalloc(size).cast(),
                false => mimalloc::mi_zalloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        // SAFETY: the caller promises that the block is from here.
        unsafe { mimalloc::mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the block is from here.
        unsafe {
            match is_aligned_anyway(size, layout.align()) {
                true => mimalloc::mi_realloc(block.cast(), size).cast(),
                false => mimalloc::mi_realloc_aligned(block.cast(), size, layout.align()).cast(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_are_aligned_and_keep_what_is_in_them(
            blocks in proptest::collection::vec((0_usize..5000, 0_u32..13, 1_usize..5000, any::<bool>()), 1..200),
        ) {
            let mut kept = Vec::new();
            for (number, (size, align, then, zeroed)) in blocks.into_iter().enumerate() {
                let layout = Layout::from_size_align(size.max(1), 1 << align).unwrap();
                let fill = number as u8;
                #[expect(unsafe_code, reason = "what is tested is unsafe")]
                // SAFETY: each block is used within its size, reallocated once, and freed with the layout it then has.
                unsafe {
                    let block = if zeroed { Allocator.alloc_zeroed(layout) } else { Allocator.alloc(layout) };
                    prop_assert!(!block.is_null() && (block as usize).is_multiple_of(layout.align()));
                    let bytes = std::slice::from_raw_parts_mut(block, layout.size());
                    prop_assert!(!zeroed || bytes.iter().all(|byte| *byte == 0));
                    bytes.fill(fill);
                    let block = Allocator.realloc(block, layout, then);
                    prop_assert!(!block.is_null() && (block as usize).is_multiple_of(layout.align()));
                    let bytes = std::slice::from_raw_parts_mut(block, then);
                    prop_assert!(bytes[..layout.size().min(then)].iter().all(|byte| *byte == fill));
                    bytes.fill(fill);
                    kept.push((block, Layout::from_size_align(then, layout.align()).unwrap(), fill));
                }
            }
            for (block, layout, fill) in kept {
                #[expect(unsafe_code, reason = "what is tested is unsafe")]
                // SAFETY: as above.
                unsafe {
                    let bytes = std::slice::from_raw_parts(block, layout.size());
                    prop_assert!(bytes.iter().all(|byte| *byte == fill));
                    Allocator.dealloc(block, layout);
                }
            }
        }
    }
}
