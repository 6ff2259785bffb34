//! Random spawning functions as Rust source: values of several kinds, several waits, spawns in loops and branches, values
//! known before calls end.
//!
//! Every function ends: a call has a smaller `n`, and 0 spawns nothing. Numbers wrap, so that both worlds define them.

use crate::translation_support::random::Random;

/// Kinds of values: the type, a value from a u64 `e`, and a u64 from a value `v`.
const KINDS: [[&str; 3]; 6] = [
    ["u64", "e", "v"],
    ["u32", "e as u32", "v as u64"],
    ["i32", "e as i32", "v as u64"],
    ["i64", "e as i64", "v as u64"],
    ["bool", "e & 8 == 8", "v as u64"],
    [
        "[u32; 3]",
        "[e as u32, (e >> 32) as u32, 7]",
        "v[0] as u64 ^ (v[1] as u64) << 32 ^ v[2] as u64",
    ],
];

/// A program with a group of so many functions, which call one another, for each seed. A function has `most` waits at most, and
/// as many places that spawn before each.
pub fn program(seeds: std::ops::Range<u64>, functions: usize, most: usize) -> String {
    let mut text = String::from(include_str!("program.rs.txt"));
    let mut groups = String::new();
    for seed in seeds {
        let group = group(seed, functions, most);
        text.push_str(&format!("mod g{seed} {{\nuse super::*;\n{group}}}\n"));
        groups.push_str(&format!("group!(g{seed}), "));
    }
    text.push_str(&format!("const FUNCTIONS: u32 = {functions};\n"));
    text.push_str(&format!("const GROUPS: &[fn(What) -> [u64; 2]] = &[{groups}];\n"));
    text
}

/// The functions of a seed, and `any`, which calls each of them by its number.
fn group(seed: u64, functions: usize, most: usize) -> String {
    let mut random = Random(seed);
    let kinds: Vec<_> = (0..functions).map(|_| random.below(KINDS.len())).collect();
    let mut text = String::new();
    for number in 0..functions {
        text.push_str(&Function::new(&mut random, &kinds).written(number, most));
    }
    text.push_str(
        "#[spawning]\npub fn any(which: u32, n: u32, seed: u64) -> u64 {\n    let mut all = seed;\n",
    );
    for (number, kind) in kinds.iter().enumerate() {
        let [ty, ..] = KINDS[*kind];
        text.push_str(&format!("    let mut v{number}: {ty} = {};\n", default(*kind)));
    }
    for number in 0..functions {
        text.push_str(&format!(
            "    if which == {number} {{ v{number} = spawn!(f{number}(n, seed)); }}\n"
        ));
    }
    text.push_str("    sync!();\n");
    for (number, kind) in kinds.iter().enumerate() {
        text.push_str(&format!(
            "    all = all.wrapping_mul(31) ^ ({});\n",
            folded(*kind, &format!("v{number}"))
        ));
    }
    text.push_str("    all\n}\n");
    text
}

fn default(kind: usize) -> &'static str {
    match KINDS[kind][0] {
        "bool" => "false",
        "[u32; 3]" => "[0; 3]",
        _ => "0",
    }
}

fn folded(kind: usize, name: &str) -> String {
    match kind {
        5 => format!("{name}[0] as u64 ^ (({name}[1] as u64) << 32) ^ {name}[2] as u64"),
        _ => KINDS[kind][2].replace('v', name),
    }
}

/// A function while it is written.
struct Function<'r> {
    random: &'r mut Random,
    kinds: &'r [usize],
    text: String,
    /// Variables of type u64 that may be mentioned.
    known: Vec<String>,
    count: usize,
}

impl<'r> Function<'r> {
    fn new(random: &'r mut Random, kinds: &'r [usize]) -> Self {
        let known = vec!["seed".into(), "mix".into()];
        Self { random, kinds, text: String::new(), known, count: 0 }
    }

    fn written(mut self, number: usize, most: usize) -> String {
        let kind = self.kinds[number];
        let [ty, made, _] = KINDS[kind];
        let leaf = self.value(2);
        let other = self.random.below(1 << 20);
        self.line(1, &format!("let mix = mixed(seed ^ {other});"));
        let rarely = if self.random.chance(50) { " || mix % 5 == 0" } else { "" };
        self.line(1, &format!("if n == 0{rarely} {{"));
        self.line(2, &format!("let e = {leaf};"));
        self.line(2, &format!("return {made};"));
        self.line(1, "}");
        for _ in 0..1 + self.random.below(most) {
            self.region(most);
        }
        if self.random.chance(25) {
            // Calls that still run when the value is known.
            let call = self.call(None);
            self.line(1, &format!("spawn!({call});"));
            if self.random.chance(50) {
                let value = self.value(1);
                self.line(1, "if mix & 32 == 0 {");
                self.line(2, &format!("let e = {value};"));
                self.line(2, &format!("return {made};"));
                self.line(1, "}");
            }
        }
        let value = self.value(3);
        self.line(1, &format!("let e = {value};"));
        let text = &self.text;
        format!("#[spawning]\nfn f{number}(n: u32, seed: u64) -> {ty} {{\n{text}    {made}\n}}\n")
    }

    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&format!("{}{line}\n", "    ".repeat(depth)));
    }

    fn name(&mut self, stem: &str) -> String {
        self.count += 1;
        format!("{stem}{}", self.count)
    }

    /// A u64 of what is known.
    fn value(&mut self, depth: usize) -> String {
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        let one = if known.len() > 2 || self.count > 0 { self.random.pick(&known) } else { "seed" };
        let one = one.to_string();
        if depth == 0 {
            return one;
        }
        let other = self.value(depth - 1);
        match self.random.below(6) {
            0 => format!("({one} ^ {other})"),
            1 => format!("{other}.wrapping_mul({one} | 1)"),
            2 => format!("{one}.wrapping_add({other})"),
            3 => format!("mixed({other})"),
            4 => format!("{other}.rotate_left({})", self.random.below(64)),
            _ => format!("(if {one} & 4 == 0 {{ {other} }} else {{ {one} }})"),
        }
    }

    /// A call of a function of this kind, if there is one; else of any, whose kind comes back by `kinds`.
    fn call(&mut self, kind: Option<usize>) -> String {
        let fitting: Vec<usize> = (0..self.kinds.len())
            .filter(|&k| kind.is_none_or(|kind| self.kinds[k] == kind))
            .collect();
        let callee = fitting[self.random.below(fitting.len())];
        self.call_of(callee)
    }

    fn call_of(&mut self, callee: usize) -> String {
        let less = self.random.pick(&["n - 1", "n / 2", "n / 2", "n / 3", "n * 2 / 3"]).to_string();
        format!("f{callee}({less}, {})", self.value(1))
    }

    /// Spawns up to a wait, then the values are known.
    fn region(&mut self, most: usize) {
        if self.random.chance(40) {
            let (name, value) = (self.name("x"), self.value(2));
            self.line(1, &format!("let {name} = {value};"));
            self.known.push(name);
        }
        let mut arrived = vec![];
        for _ in 0..1 + self.random.below(most) {
            match self.random.below(4) {
                0 | 1 => {
                    let callee = self.random.below(self.kinds.len());
                    let (name, call) = (self.name("v"), self.call_of(callee));
                    self.line(1, &format!("let {name} = spawn!({call});"));
                    arrived.push(folded(self.kinds[callee], &name));
                }
                2 => arrived.push(self.either()),
                _ => arrived.extend(self.repeated()),
            }
        }
        if self.random.chance(20) {
            let call = self.call(None);
            self.line(1, &format!("spawn!({call});"));
        }
        self.line(1, "sync!();");
        for value in arrived {
            let name = self.name("h");
            self.line(1, &format!("let {name}: u64 = {value};"));
            self.known.push(name);
        }
    }

    /// A call in one branch or both.
    fn either(&mut self) -> String {
        let callee = self.random.below(self.kinds.len());
        let kind = self.kinds[callee];
        let (name, bit) = (self.name("w"), 1 << self.random.below(6));
        let (first, second) = (self.call_of(callee), self.call(Some(kind)));
        self.line(1, &format!("let mut {name}: {} = {};", KINDS[kind][0], default(kind)));
        self.line(1, &format!("if mix & {bit} == 0 {{"));
        self.line(2, &format!("{name} = spawn!({first});"));
        if self.random.chance(60) {
            self.line(1, "} else {");
            self.line(2, &format!("{name} = spawn!({second});"));
        }
        self.line(1, "}");
        folded(kind, &name)
    }

    /// Calls of a loop, combined.
    fn repeated(&mut self) -> Option<String> {
        let numbers: Vec<_> = (0..self.kinds.len()).filter(|&k| self.kinds[k] < 4).collect();
        if numbers.is_empty() {
            return None;
        }
        let callee = numbers[self.random.below(numbers.len())];
        let kind = self.kinds[callee];
        let (name, how) = (self.name("a"), self.random.pick(&["+=", "^=", "|="]).to_string());
        let begin = self.random.below(9);
        let most = 1 + self.random.below(3);
        let k = self.name("k");
        self.line(1, &format!("let mut {name}: {} = {begin};", KINDS[kind][0]));
        let known = self.known.len();
        match self.random.below(3) {
            0 => self.line(1, &format!("for {k} in 0..{most}u64 {{")),
            1 => self.line(1, &format!("for {k} in (0..=mix & {most}).rev() {{")),
            _ => {
                self.line(1, &format!("let mut {k} = mix & 7;"));
                self.line(1, &format!("while {k} > {} {{", 7 - most));
                self.line(2, &format!("{k} -= 1;"));
            }
        }
        self.known.push(k.clone());
        if self.random.chance(30) {
            let jump = self.random.pick(&["continue", "break"]).to_string();
            let value = self.value(1);
            self.line(2, &format!("if mixed({value}) & 7 == 1 {{"));
            self.line(3, &format!("{jump};"));
            self.line(2, "}");
        }
        if self.random.chance(30) {
            let (inner, value) = (self.name("y"), self.value(2));
            self.line(2, &format!("let {inner} = {value};"));
            self.known.push(inner);
        }
        let call = self.call_of(callee);
        self.line(2, &format!("{name} {how} spawn!({call});"));
        self.line(1, "}");
        self.known.truncate(known);
        Some(folded(kind, &name))
    }
}
