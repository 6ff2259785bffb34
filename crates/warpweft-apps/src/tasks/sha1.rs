//! SHA-1 of messages of one block (FIPS 180-4, section 6.1.2), for cores and GPUs.

use warpweft::prelude::*;

/// The digest of a padded message of one block, in words with the most significant byte first.
#[device]
pub fn sha1_block(block: [u32; 16]) -> [u32; 5] {
    let first = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut words = block;
    let mut s = first;
    for t in 0..20 {
        let chosen = (s[1] & s[2]) | (!s[1] & s[3]);
        s = round(s, chosen, 0x5a82_7999, word(&mut words, t));
    }
    for t in 20..40 {
        s = round(s, s[1] ^ s[2] ^ s[3], 0x6ed9_eba1, word(&mut words, t));
    }
    for t in 40..60 {
        let majority = (s[1] & s[2]) | (s[1] & s[3]) | (s[2] & s[3]);
        s = round(s, majority, 0x8f1b_bcdc, word(&mut words, t));
    }
    for t in 60..80 {
        s = round(s, s[1] ^ s[2] ^ s[3], 0xca62_c1d6, word(&mut words, t));
    }
    for k in 0..5 {
        s[k] = s[k].wrapping_add(first[k]);
    }
    s
}

/// Word `t` of the message schedule; the last 16 are kept.
#[device]
fn word(words: &mut [u32; 16], t: usize) -> u32 {
    if t >= 16 {
        let far = words[(t + 13) % 16] ^ words[(t + 8) % 16] ^ words[(t + 2) % 16];
        words[t % 16] = (far ^ words[t % 16]).rotate_left(1);
    }
    words[t % 16]
}

/// One round, with what its function has chosen of the state, its constant and its word.
#[device]
fn round(s: [u32; 5], chosen: u32, constant: u32, word: u32) -> [u32; 5] {
    let sum = s[0].rotate_left(5).wrapping_add(chosen).wrapping_add(s[4]);
    [sum.wrapping_add(constant).wrapping_add(word), s[0], s[1].rotate_left(30), s[2], s[3]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha1::{Digest, Sha1};

    /// The digest of a message of at most 55 bytes.
    fn digest(message: &[u8]) -> [u32; 5] {
        let mut bytes = [0u8; 64];
        bytes[..message.len()].copy_from_slice(message);
        bytes[message.len()] = 0x80;
        bytes[56..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
        let word = |k: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte| bytes[4 * k + byte]));
        sha1_block(std::array::from_fn(word))
    }

    #[test]
    fn digests_are_those_of_the_standard_and_of_another_program() {
        // FIPS 180-4's example.
        let abc = [0xa999_3e36, 0x4706_816a, 0xba3e_2571, 0x7850_c26c, 0x9cd0_d89d];
        assert_eq!(digest(b"abc"), abc);
        let mut message = Vec::new();
        for length in 0..=55u8 {
            let expect = Sha1::digest(&message);
            let bytes: Vec<u8> = digest(&message).iter().flat_map(|w| w.to_be_bytes()).collect();
            assert_eq!(bytes, expect[..], "{length} bytes");
            message.push(length.wrapping_mul(89).wrapping_add(message.len() as u8));
        }
    }
}
