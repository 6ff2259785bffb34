//! Words that the field does not use for what they would mean here: the list is `xtask/words.txt`.

/// A word and what to write instead.
pub struct Word {
    name: String,
    instead: String,
    /// Texts that hold the word in a legitimate sense.
    but: Vec<String>,
}

/// The list.
const WORDS: &str = include_str!("../../words.txt");

/// Files that name the words on purpose: the list, and what tells readers of old names.
const EXEMPT: [&str; 4] =
    ["xtask/words.txt", "xtask/src/tidy/words.rs", "CHANGELOG.md", "Cargo.lock"];

/// Kinds of file that people read.
const READ: [&str; 7] = [".rs", ".md", ".cu", ".cuh", ".toml", ".stderr", ".sh"];

/// The words of the list.
pub fn words() -> Vec<Word> {
    let lines =
        WORDS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parts = lines.map(|line| line.split('|').map(|part| part.trim().to_string()).collect());
    parts
        .map(|parts: Vec<String>| Word {
            name: parts[0].clone(),
            instead: parts.get(1).cloned().unwrap_or_default(),
            but: parts.get(2..).unwrap_or_default().to_vec(),
        })
        .collect()
}

/// Uses of `words` in one file: prose, messages and identifiers.
pub fn uses(words: &[Word], path: &str, text: &str) -> Vec<String> {
    if EXEMPT.contains(&path) || !READ.iter().any(|ending| path.ends_with(ending)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in words {
            if word.but.iter().any(|but| line.contains(but.as_str())) {
                continue;
            }
            let held = match word.name.ends_with('(') {
                true => calls(line, &word.name),
                false => parts(line).any(|part| part.eq_ignore_ascii_case(&word.name)),
            };
            if held {
                let Word { name, instead, .. } = word;
                found.push(format!("{path}:{}: `{name}`: write {instead}", index + 1));
            }
        }
    }
    found
}

/// Whether a function of that name, `name(`, is defined or called.
fn calls(line: &str, name: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| !line[..at].ends_with(inside))
}

/// The words of a line, those of `snake_case` and `CamelCase` one by one.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphabetic()).flat_map(|word| {
        let mut ends: Vec<usize> = word
            .char_indices()
            .skip(1)
            .filter(|&(at, c)| c.is_uppercase() && word[..at].ends_with(|c: char| c.is_lowercase()))
            .map(|(at, _)| at)
            .collect();
        ends.push(word.len());
        let mut begin = 0;
        ends.into_iter().map(move |end| &word[std::mem::replace(&mut begin, end)..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_prose_and_in_identifiers() {
        let words = [
            Word {
                name: "trip".into(),
                instead: "time block".into(),
                but: vec!["round trip".into()],
            },
            Word { name: "skirt".into(), instead: "overlap cells".into(), but: vec![] },
        ];
        let uses = |line: &str| uses(&words, "a.rs", line).len();
        for line in ["a trip.", "fn steps_a_trip()", "struct TripCount;", "SKIRT", "skirt_of(x)"] {
            assert_eq!(uses(line), 1, "{line}");
        }
        for line in ["strip", "a round trip", "tripwire", "outskirts"] {
            assert_eq!(uses(line), 0, "{line}");
        }
        assert!(calls("fn told(&self)", "told(") && !calls("was told (then)", "told("));
    }

    #[test]
    fn the_list_can_be_read() {
        assert!(words().iter().all(|word| !word.name.is_empty() && !word.instead.is_empty()));
    }
}
