//! Rust text with comments and literals told apart from code, line by line.

/// One line of Rust.
#[derive(Debug, Default)]
pub struct Line {
    /// The code, with comments removed and the contents of literals blanked.
    pub code: String,
    /// The text of comments.
    pub comment: String,
}

/// A file's lines up to its unit tests.
#[derive(Debug)]
pub struct Source {
    /// All lines, in order.
    pub lines: Vec<Line>,
    /// Number of lines before `#[cfg(test)] mod ..`, or all of them.
    pub before_tests: usize,
}

impl Source {
    /// Separates code from comments and literals.
    pub fn read(text: &str) -> Self {
        let mut lines = vec![Line::default()];
        let mut state = State::Code;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let mut taken = c.len_utf8();
            if c == '\n' {
                if state == State::LineComment {
                    state = State::Code;
                }
                lines.push(Line::default());
                rest = &rest[taken..];
                continue;
            }
            let count = lines.len();
            let line = &mut lines[count - 1];
            match &mut state {
                State::Code => {
                    (state, taken) = enter(rest, line.code.chars().next_back());
                    match state {
                        State::Code => line.code.push_str(&rest[..taken]),
                        State::Literal { .. } => line.code.push('"'),
                        State::LineComment | State::BlockComment(_) => {}
                    }
                }
                State::LineComment => line.comment.push(c),
                State::BlockComment(depth) => {
                    if rest.starts_with("*/") {
                        taken = 2;
                        *depth -= 1;
                        if *depth == 0 {
                            state = State::Code;
                        }
                    } else if rest.starts_with("/*") {
                        taken = 2;
                        *depth += 1;
                    } else {
                        line.comment.push(c);
                    }
                }
                State::Literal { raw } => {
                    let (length, ends) = in_literal(rest, raw.as_deref());
                    taken = length;
                    if ends {
                        line.code.push('"');
                        state = State::Code;
                    }
                }
            }
            rest = &rest[taken..];
        }
        let before_tests = lines
            .windows(2)
            .position(|pair| {
                pair[0].code.starts_with("#[cfg(test)]") && pair[1].code.starts_with("mod ")
            })
            .unwrap_or(lines.len());
        Self { lines, before_tests }
    }

    /// Line numbers, from 1, and code of the lines before the unit tests.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines[..self.before_tests]
            .iter()
            .enumerate()
            .map(|(i, line)| (i + 1, line.code.as_str()))
    }
}

/// The files of the modules that the file at `path` declares for tests alone.
pub fn test_modules(path: &str, text: &str) -> Vec<String> {
    let Some((folder, file)) = path.rsplit_once('/') else { return Vec::new() };
    let folder = match file {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_string(),
        _ => path.trim_end_matches(".rs").to_string(),
    };
    let lines: Vec<&str> = text.lines().collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    declared
        .filter_map(|pair| pair[1].strip_prefix("mod ")?.strip_suffix(';'))
        .map(|name| format!("{folder}/{name}.rs"))
        .collect()
}

#[derive(PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment(u32),
    /// A string; `raw` is what ends a raw one.
    Literal {
        raw: Option<String>,
    },
}

/// The length of what is next in a literal that a `raw` string's end ends, or a quote; whether it ends there.
fn in_literal(rest: &str, raw: Option<&str>) -> (usize, bool) {
    let first = rest.chars().next().map_or(1, char::len_utf8);
    match raw {
        Some(end) if rest.starts_with(end) => (end.len(), true),
        None if rest.starts_with('\\') => {
            // An escaped newline still ends the line.
            let after = rest[1..].chars().next().filter(|&c| c != '\n');
            (first + after.map_or(0, char::len_utf8), false)
        }
        None => (first, rest.starts_with('"')),
        Some(_) => (first, false),
    }
}

/// The state after the token that `rest` starts with, and its length in bytes.
fn enter(rest: &str, before: Option<char>) -> (State, usize) {
    if rest.starts_with("//") {
        return (State::LineComment, 2);
    }
    if rest.starts_with("/*") {
        return (State::BlockComment(1), 2);
    }
    if rest.starts_with('"') {
        return (State::Literal { raw: None }, 1);
    }
    let inside_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if !inside_word {
        let raw = rest.strip_prefix('b').unwrap_or(rest);
        if let Some(raw) = raw.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if raw[hashes..].starts_with('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let length = rest.len() - raw.len() + hashes + 1;
                return (State::Literal { raw: Some(end) }, length);
            }
        }
    }
    // A character literal such as '"' or '\''; a lifetime has no closing quote.
    if let Some(inner) = rest.strip_prefix('\'') {
        let mut chars = inner.char_indices();
        let end = match chars.next() {
            Some((_, '\\')) => inner[2..].find('\'').map(|at| at + 2),
            Some((_, c)) if c != '\'' => {
                inner[c.len_utf8()..].starts_with('\'').then_some(c.len_utf8())
            }
            _ => None,
        };
        if let Some(end) = end {
            return (State::Code, end + 2);
        }
    }
    (State::Code, rest.chars().next().map_or(1, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_not_code() {
        let cases = [
            ("a(); // b", "a(); ", " b"),
            ("a(\"// b\"); c", "a(\"\"); c", ""),
            ("a /* b /* c */ d */ e", "a  e", " b  c  d "),
            (r##"a(r#"b " c"#, d)"##, "a(\"\", d)", ""),
            (r"'\'' + '/' // x", r"'\'' + '/' ", " x"),
            (r#"a<'b>("\"//")"#, r#"a<'b>("")"#, ""),
        ];
        for (text, code, comment) in cases {
            let source = Source::read(text);
            assert_eq!(
                (source.lines[0].code.as_str(), source.lines[0].comment.as_str()),
                (code, comment)
            );
        }
    }

    #[test]
    fn strings_go_on_over_lines() {
        let source = Source::read("a(\"b\n unsafe {\n\");\nc");
        let code: Vec<_> = source.code().map(|(_, code)| code).collect();
        assert_eq!(code, ["a(\"", "", "\");", "c"]);
    }
}
