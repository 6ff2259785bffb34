//! Random functions of the subset, as Rust source.
//!
//! Every function terminates (loops count), and computes only what both worlds define to the bit:
//! where Rust leaves the sign of a NaN or of a zero open, the text makes it one.

mod expression;
mod recurrence;
mod statement;

use super::random::Random;

/// A type of the subset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// By name.
    Int(&'static str),
    /// `f32` or `f64`.
    Float(&'static str),
    /// `f16` or `bf16`.
    Half(&'static str),
    /// `bool`.
    Bool,
    /// [`super::Hue`].
    Hue,
    /// [`super::Point`].
    Point,
    /// Two members.
    Pair(Box<Ty>, Box<Ty>),
    /// Several of one.
    Array(Box<Ty>, usize),
}

const HALVES: [&str; 2] = ["f16", "bf16"];
const INTS: [&str; 10] = ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];

impl Ty {
    fn name(&self) -> String {
        match self {
            Self::Int(name) | Self::Float(name) | Self::Half(name) => name.to_string(),
            Self::Bool => "bool".into(),
            Self::Hue => "Hue".into(),
            Self::Point => "Point".into(),
            Self::Pair(a, b) => format!("({}, {})", a.name(), b.name()),
            Self::Array(item, n) => format!("[{}; {n}]", item.name()),
        }
    }

    fn signed(&self) -> bool {
        matches!(self, Self::Int(name) if name.starts_with('i'))
    }
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    ty: Ty,
    mutable: bool,
}

/// A loop around the place being written.
#[derive(Clone, Debug)]
struct Frame {
    label: Option<String>,
    /// Whether `continue` keeps it terminating.
    can_continue: bool,
    /// Whether `break` needs a value.
    valued: bool,
}

/// A function written already.
#[derive(Clone, Debug)]
struct Signature {
    name: String,
    arguments: Vec<Ty>,
    output: Ty,
}

/// Writes one function.
struct Writer<'a> {
    random: &'a mut Random,
    variables: Vec<Variable>,
    frames: Vec<Frame>,
    output: Ty,
    functions: &'a [Signature],
    /// Nodes that may still be written.
    budget: usize,
    names: usize,
    /// Frames below this one are out of reach: a jump in the head of a `while` needs a label.
    base: usize,
}

impl Writer<'_> {
    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn ty(&mut self, depth: usize) -> Ty {
        match self.random.below(if depth == 0 { 8 } else { 11 }) {
            0..=2 => Ty::Int(self.random.pick(&INTS)),
            3 => Ty::Float("f32"),
            4 => Ty::Float("f64"),
            5 => Ty::Bool,
            6 => Ty::Hue,
            7 => Ty::Half(self.random.pick(&HALVES)),
            8 => Ty::Point,
            9 => Ty::Pair(Box::new(self.ty(depth - 1)), Box::new(self.ty(depth - 1))),
            _ => Ty::Array(Box::new(self.ty(depth - 1)), 1 + self.random.below(4)),
        }
    }

    /// A statement that makes the answer depend on a variable.
    fn note(&mut self) -> String {
        let ty = match self.random.below(3) {
            0 => Ty::Float("f64"),
            1 => Ty::Float("f32"),
            _ => Ty::Int(self.random.pick(&INTS)),
        };
        match self.place(&ty, false) {
            Some(place) => format!("sink = sink.rotate_left(7) ^ ({place} as i64);\n"),
            None => String::new(),
        }
    }

    /// What the function returns here.
    fn result(&mut self, depth: usize) -> String {
        let output = self.output.clone();
        format!("({}, sink)", self.expr(&output, depth, false))
    }

    fn spend(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(1);
        self.budget > 0
    }
}

/// What every program starts with: constants and functions that the random ones use.
const HEAD: &str = r#"
use warpweft::prelude::*;
use crate::translation_support::{Cases, Flat, Hue, Point, given, random::Random};
use warpweft::element::{DeviceType, Unit};

const WHOLE: i64 = -9_007_199_254_740_993;
const BYTE: u8 = 200;
const SMALL: f32 = 1.0e-39;
const THIRD: f64 = 1.0 / 3.0;
const GRID: [[i16; 3]; 2] = [[i16::MIN, 1, 77], [5, -6, i16::MAX]];
const REALS: [f32; 4] = [0.1, -0.0, f32::INFINITY, 3.5e10];
const ORIGIN: Point = Point { tag: 3, x: 0.7, weights: [1.0, -2.0, f32::NAN], double: -9 };

#[device]
fn blend<T: Real>(a: T, b: T) -> T {
    if a < b { return a * T::lit(0.75) + b; }
    a.mul_add(b, T::lit(0.1))
}
#[device]
fn bump(x: &mut i32, by: i32) -> i32 {
    let before = *x;
    *x = before * 3 + by;
    before ^ *x
}
#[device]
fn tally(items: &mut [u8; 4], at: usize) -> u8 {
    items[at % 4] += 1;
    items[(at + 1) % 4] ^= items[at % 4];
    items[0]
}
#[device]
fn hue(n: i64) -> Hue {
    match n % 3 { 0 => Hue::Red, 1 | -1 => Hue::Green, _ => Hue::Blue }
}
#[device]
fn number(hue: Hue, p: &Point) -> i16 {
    match hue { Hue::Red => p.double, Hue::Green if p.tag > 4 => p.tag as i16, _ => hue as i16 }
}
"#;

/// A module with `functions` random functions and `register`, which adds them to cases.
pub fn program(seed: u64, functions: usize, inputs: usize) -> String {
    let mut random = Random(seed);
    let mut text = String::from(HEAD);
    let mut register = String::from("pub fn register(cases: &mut Cases) {\n");
    let mut group: Vec<Signature> = vec![];
    for number in 0..functions {
        // Callees come from the last few, which call nothing themselves.
        if number % 20 == 0 {
            group.clear();
        }
        let leaf = number % 20 < 5;
        let callees = if leaf { vec![] } else { group.clone() };
        let (function, signature) = one(&mut random, number, &callees);
        text.push_str(&function);
        let arguments: String = (0..signature.arguments.len()).map(|i| format!("a{i}, ")).collect();
        let types: String = signature.arguments.iter().map(|ty| ty.name() + ", ").collect();
        let name = &signature.name;
        register.push_str(&format!(
            "    let mut random = Random({});\n    let inputs: Vec<({types})> = (0..{inputs}).map(|_| Flat::sample(&mut random)).collect();\n    cases.add::<{name}, ({types}), {}>(\"{name} of seed {seed}\", |({arguments})| {name}({arguments}), &inputs);\n",
            random.next(),
            signature.output.name(),
        ));
        if leaf {
            group.push(signature);
        } else if number % 4 == 0 {
            let (wave, call) = recurrence::one(&mut random, number, &signature, inputs);
            text.push_str(&wave);
            register.push_str(&call);
        }
    }
    text.push_str(&register);
    text.push_str("}\n");
    text
}

fn one(random: &mut Random, number: usize, functions: &[Signature]) -> (String, Signature) {
    let output = Ty::Bool;
    let budget = 20 + random.below(70);
    let mut writer = Writer {
        random,
        variables: vec![],
        frames: vec![],
        output,
        functions,
        budget,
        names: 0,
        base: 0,
    };
    writer.output = writer.ty(2);
    let count = 1 + writer.random.below(4);
    let mut arguments = vec![];
    let mut head = vec![];
    for i in 0..count {
        let ty = writer.ty(2);
        let mutable = writer.random.chance(30);
        let name = format!("p{i}");
        let mark = if mutable { "mut " } else { "" };
        head.push(format!("{mark}{name}: {}", ty.name()));
        writer.variables.push(Variable { name, ty: ty.clone(), mutable });
        arguments.push(ty);
    }
    let sink = Variable { name: "sink".into(), ty: Ty::Int("i64"), mutable: false };
    writer.variables.push(sink);
    // Every statement has its share of the budget, and so has the value.
    let statements = 2 + writer.random.below(6);
    let share = budget / (statements + 1) + 4;
    let mut body = String::from("{ let mut sink = 0i64;\n");
    for _ in 0..statements {
        writer.budget = share;
        body.push_str(&writer.statement(1));
        body.push('\n');
        body.push_str(&writer.note());
    }
    writer.budget = share;
    let value = writer.result(1);
    let output = Ty::Pair(Box::new(writer.output.clone()), Box::new(Ty::Int("i64")));
    let name = format!("func{number}");
    let text = format!(
        "#[device]\npub fn {name}({}) -> {} {body}{value} }}\n",
        head.join(", "),
        output.name()
    );
    (text, Signature { name, arguments, output })
}
