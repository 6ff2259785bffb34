//! Records of FASTQ files: letters and a quality for each.

use warpweft::error::{Error, Result};
use warpweft::memory::grow;

use super::lines::Lines;
use super::record::{ROOM, Record};

const FORM: &str =
    "give FASTQ: a line `@name`, the letters, a line `+`, and one quality for each letter";

/// The records of `lines`, of which the first that is not empty begins with `@`.
///
/// Letters and qualities may take several lines each, qualities no more than letters; a quality may be an `@`, so records
/// are told apart by their numbers of letters.
///
/// # Errors
/// A record without a name, a `+` or as many qualities as letters, with its line.
pub(super) fn parse<'t>(lines: impl Iterator<Item = &'t [u8]>) -> Result<Vec<Record>> {
    after(0, lines)
}

/// The same of lines with so many before them.
fn after<'t>(before: usize, lines: impl Iterator<Item = &'t [u8]>) -> Result<Vec<Record>> {
    let wrong = |line: usize, what: String| Err(Error::spec(format!("line {line}: {what}"), FORM));
    let mut lines = (lines.enumerate())
        .map(|(number, line)| (before + number + 1, line.trim_ascii()))
        .peekable();
    let mut records = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let Some(header) = line.strip_prefix(b"@") else {
            let begin = String::from_utf8_lossy(&line[..line.len().min(20)]).into_owned();
            return wrong(number, format!("found {begin:?}, but a record must begin with `@`"));
        };
        let name = header.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if name.is_empty() {
            return wrong(number, "a record without a name".into());
        }
        let name = String::from_utf8_lossy(name).into_owned();
        let (mut letters, mut quality, mut places) = (Vec::new(), Vec::new(), Lines::default());
        let (mut last, mut most) = (number, 0);
        loop {
            match lines.next() {
                Some((_, line)) if line.starts_with(b"+") => break,
                Some((at, line)) => {
                    last = at;
                    places.add(at, letters.len(), line.len());
                    most += 1;
                    append(&mut letters, line)?;
                }
                None => return wrong(last, format!("record {name} ends without a line `+`")),
            }
        }
        while let Some((at, line)) = lines.next_if(|_| quality.len() < letters.len() && most > 0) {
            (last, most) = (at, most - 1);
            append(&mut quality, line)?;
        }
        if quality.len() != letters.len() {
            let (found, wanted) = (quality.len(), letters.len());
            let what = format!("record {name} has {found} qualities for {wanted} letters");
            return wrong(last, what);
        }
        if let Some(at) = quality.iter().position(|quality| !(b'!'..=b'~').contains(quality)) {
            let what = format!("record {name}: byte {} as quality {}", quality[at], at + 1);
            return wrong(last, what);
        }
        records.push(Record { name, letters, quality: Some(quality), lines: places });
    }
    Ok(records)
}

/// The records of `lines`, with so many `before` them, four for each; what is wrong stands in the place of one that is
/// none, and goes on to the next line `@` with a `+` two lines below.
pub(super) fn four_lines(before: usize, lines: &[&[u8]]) -> Vec<Result<Record>> {
    let begins = |at: usize| {
        lines[at].starts_with(b"@") && lines.get(at + 2).is_some_and(|line| line.starts_with(b"+"))
    };
    let (mut at, mut records) = (0, Vec::new());
    while at < lines.len() {
        if lines[at].trim_ascii().is_empty() {
            at += 1;
            continue;
        }
        let end = (at + 4).min(lines.len());
        let one = after(before + at, lines[at..end].iter().copied()).and_then(|found| {
            let none = || Error::spec(format!("line {}: no record", before + at + 1), FORM);
            found.into_iter().next().ok_or_else(none)
        });
        let fine = one.is_ok();
        records.push(one);
        at = match fine {
            true => end,
            false => (at + 1..lines.len()).find(|&at| begins(at)).unwrap_or(lines.len()),
        };
    }
    records
}

fn append(to: &mut Vec<u8>, line: &[u8]) -> Result<()> {
    grow(to, line.len(), ROOM)?;
    to.extend_from_slice(line);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Record>> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        parse(text.as_bytes().split(|&byte| byte == b'\n'))
    }

    #[test]
    fn records_are_told_apart_by_their_numbers_of_letters() {
        let records = parsed("@a one\nACGT\n+a\n@+!~\n\n@b\nAC\nGT\n+\nII\nII\n").unwrap();
        let of =
            |k: usize| (records[k].name.as_str(), &records[k].letters[..], &records[k].quality);
        assert_eq!(of(0), ("a", &b"ACGT"[..], &Some(b"@+!~".to_vec())));
        assert_eq!(of(1), ("b", &b"ACGT"[..], &Some(b"IIII".to_vec())));
        assert_eq!(records.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_told_with_record_and_line() {
        for (text, what) in [
            ("@a\nACGT\n+\nII\n", "record a has 2 qualities for 4 letters"),
            ("@a\nAC\n+\nIIII\n", "line 4: record a has 4 qualities for 2 letters"),
            ("@a\nACGT\n+\nII\n@b\nA\n+\nI\n", "line 4: record a has 2 qualities for 4 letters"),
            ("@a\nAC\n", "line 2: record a ends without a line `+`"),
            ("@a\nAC\n+\nII\nAC\n", "line 5: found \"AC\", but a record must begin"),
            ("@\nAC\n+\nII\n", "line 1: a record without a name"),
            ("@a\nAC\n+\nI\x07\n", "line 4: record a: byte 7 as quality 2"),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text:?}: {error}");
        }
    }
}
