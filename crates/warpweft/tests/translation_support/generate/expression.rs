//! Random expressions of a given type.

use super::{HALVES, INTS, Ty, Writer};

impl Writer<'_> {
    /// An expression of type `ty`. `bare`: it may be a literal without a suffix.
    pub(super) fn expr(&mut self, ty: &Ty, depth: usize, bare: bool) -> String {
        let go_on = self.spend() && depth < 5;
        if !go_on || self.random.chance(25) {
            return self.leaf(ty, bare);
        }
        if self.random.chance(18) {
            return self.branch(ty, depth + 1);
        }
        if self.random.chance(12)
            && let Some(call) = self.call(ty, depth + 1)
        {
            return call;
        }
        match ty {
            Ty::Int(name) => self.int(ty, name, depth + 1),
            Ty::Float(name) => self.float(ty, name, depth + 1),
            Ty::Half(name) => self.half(ty, name, depth + 1),
            Ty::Bool => self.truth(depth + 1),
            Ty::Hue => match self.random.below(2) {
                0 => format!("hue({})", self.expr(&Ty::Int("i64"), depth + 1, true)),
                _ => self.leaf(ty, bare),
            },
            Ty::Point => self.point(depth + 1),
            Ty::Pair(a, b) => {
                let (a, b) = (self.expr(a, depth + 1, false), self.expr(b, depth + 1, false));
                format!("({a}, {b})")
            }
            Ty::Array(item, n) if self.random.chance(30) => {
                format!("[{}; {n}]", self.expr(item, depth + 1, false))
            }
            Ty::Array(item, n) => {
                let items: Vec<_> = (0..*n).map(|i| self.expr(item, depth + 1, i > 0)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }

    /// A literal of a float that ends like this.
    fn decimal(&mut self, end: &str) -> String {
        const SOME: [&str; 12] = [
            "0.0",
            "1.0",
            "0.1",
            "2.5",
            "1.0e-40",
            "3.0e38",
            "1.0e10",
            "0.3333333333333333",
            "16777217.0",
            "255.5",
            "1e-7",
            "0.7",
        ];
        let digits = self.random.pick(&SOME);
        match self.random.chance(30) {
            true => format!("(-{digits}{end})"),
            false => format!("{digits}{end}"),
        }
    }

    /// A variable, a part of one, a constant or a literal.
    fn leaf(&mut self, ty: &Ty, bare: bool) -> String {
        if self.random.chance(70)
            && let Some(place) = self.place(ty, false)
        {
            return place;
        }
        if self.random.chance(15)
            && let Some(constant) = self.constant(ty)
        {
            return constant;
        }
        if self.random.chance(70)
            && let Some(value) = self.converted(ty)
        {
            return value;
        }
        let suffix = |name: &str, bare: bool| if bare { "" } else { name }.to_string();
        match ty {
            Ty::Int(name) => {
                let bits = match *name {
                    "i8" | "u8" => 8,
                    "i16" | "u16" => 16,
                    "i32" | "u32" => 32,
                    _ => 64,
                };
                let high = if ty.signed() { bits - 1 } else { bits };
                let wide = self.random.chance(15);
                let value = match wide {
                    true => self.random.next() >> (64 - high),
                    false => self.random.next() % 12,
                };
                let end = suffix(name, bare);
                match ty.signed() && self.random.chance(30) {
                    true => format!("(-{value}{end})"),
                    false => format!("{value}{end}"),
                }
            }
            Ty::Float(name) => self.decimal(&suffix(name, bare)),
            Ty::Half(name) => {
                let value = self.leaf(&Ty::Float("f32"), false);
                let rounded = self.random.pick(&["narrow", "from_f32"]);
                format!("{name}::{rounded}({value})")
            }
            Ty::Bool => self.random.pick(&["true", "false"]).into(),
            Ty::Hue => self.random.pick(&["Hue::Red", "Hue::Green", "Hue::Blue"]).into(),
            Ty::Point => "ORIGIN".into(),
            Ty::Pair(a, b) => format!("({}, {})", self.leaf(a, false), self.leaf(b, false)),
            Ty::Array(item, n) => format!("[{}; {n}]", self.leaf(item, false)),
        }
    }

    /// A number in scope, as another type.
    fn converted(&mut self, ty: &Ty) -> Option<String> {
        let from = match self.random.below(8) {
            0 => Ty::Float("f32"),
            1 => Ty::Float("f64"),
            2 if matches!(ty, Ty::Int(_)) => Ty::Bool,
            3 if matches!(ty, Ty::Int(_)) => Ty::Hue,
            _ => Ty::Int(self.random.pick(&INTS)),
        };
        let place = self.place(&from, false)?;
        match ty {
            Ty::Int(name) | Ty::Float(name) => Some(format!("({place} as {name})")),
            Ty::Bool if matches!(from, Ty::Int(_)) => Some(format!("({place} % 2 == 0)")),
            Ty::Bool => Some(format!("({place} < 7.5)")),
            Ty::Hue => Some(format!("hue({place} as i64)")),
            _ => None,
        }
    }

    fn constant(&mut self, ty: &Ty) -> Option<String> {
        let index = self.random.below(12);
        Some(match ty {
            Ty::Int("i64") => "WHOLE".into(),
            Ty::Int("u8") => "BYTE".into(),
            Ty::Int("i16") => format!("GRID[{}][{}]", index % 2, index % 3),
            Ty::Int(name) => format!("{name}::{}", self.random.pick(&["MAX", "MIN"])),
            Ty::Float("f32") if index < 4 => "SMALL".into(),
            Ty::Float("f32") => format!("REALS[{}]", index % 4),
            Ty::Float("f64") if index < 4 => "THIRD".into(),
            Ty::Float(_) => "std::f64::consts::E".into(),
            Ty::Array(item, 3) if **item == Ty::Int("i16") => format!("GRID[{}]", index % 2),
            _ => return None,
        })
    }

    /// A variable of type `ty` or a part of one, to assign if `mutable`.
    pub(super) fn place(&mut self, ty: &Ty, mutable: bool) -> Option<String> {
        let all = self.variables.clone();
        let mut found = vec![];
        for variable in all.iter().filter(|v| v.mutable || !mutable) {
            parts(&variable.name, &variable.ty, ty, &mut found, 0);
        }
        if found.is_empty() {
            return None;
        }
        let mut place = found[self.random.below(found.len())].clone();
        // Each `#n` stands for an index into an array of n.
        while let Some(at) = place.find('#') {
            let n = place[at + 1..at + 2].to_string();
            let index = match self.random.below(20) {
                0 => self.expr(&Ty::Int("usize"), 4, true),
                1..=8 => format!("({} % {n})", self.expr(&Ty::Int("usize"), 4, false)),
                _ => format!("{}", self.random.below(n.parse().unwrap_or(1))),
            };
            place.replace_range(at..at + 2, &index);
        }
        Some(place)
    }

    fn branch(&mut self, ty: &Ty, depth: usize) -> String {
        match self.random.below(5) {
            0 | 1 => {
                let condition = self.expr(&Ty::Bool, depth, false);
                let (a, b) = (self.value_block(ty, depth), self.value_block(ty, depth));
                format!("(if {condition} {a} else {b})")
            }
            2 => self.choice(Some(ty), depth),
            3 => self.value_block(ty, depth),
            _ => self.valued_loop(ty, depth),
        }
    }

    fn value_block(&mut self, ty: &Ty, depth: usize) -> String {
        let statements = if self.random.chance(50) { 0 } else { 1 + self.random.below(2) };
        self.block(statements, Some(ty), depth)
    }

    fn call(&mut self, ty: &Ty, depth: usize) -> Option<String> {
        let fits = |output: &Ty| matches!(output, Ty::Pair(value, _) if **value == *ty);
        let able: Vec<_> = self.functions.iter().filter(|f| fits(&f.output)).cloned().collect();
        if !able.is_empty() && self.frames.len() < 2 {
            let function = able[self.random.below(able.len())].clone();
            let arguments: Vec<_> =
                function.arguments.iter().map(|ty| self.expr(ty, depth + 1, true)).collect();
            return Some(format!("{}({}).0", function.name, arguments.join(", ")));
        }
        match ty {
            Ty::Float(name) => {
                let (a, b) = (self.expr(ty, depth, false), self.expr(ty, depth, true));
                let generic =
                    if self.random.chance(30) { format!("::<{name}>") } else { String::new() };
                Some(format!("blend{generic}({a}, {b})"))
            }
            Ty::Int("i32") => {
                let by = self.expr(ty, depth, false);
                let x = self.place(ty, true)?;
                Some(format!("({by} ^ {{ let by = {by}; bump(&mut {x}, by) }})"))
            }
            Ty::Int("u8") => {
                let at = self.expr(&Ty::Int("usize"), depth, false);
                let items = self.place(&Ty::Array(Box::new(ty.clone()), 4), true)?;
                Some(format!("{{ let at = {at}; tally(&mut {items}, at) }}"))
            }
            Ty::Int("i16") => {
                let which = self.expr(&Ty::Hue, depth, false);
                let p = self.place(&Ty::Point, false)?;
                Some(format!("number({which}, &{p})"))
            }
            _ => None,
        }
    }

    /// A method of `a`, a number of type `ty`.
    fn int_method(&mut self, ty: &Ty, name: &str, a: &str, depth: usize) -> String {
        let b = self.expr(ty, depth, true);
        let c = self.expr(ty, depth, true);
        match self.random.below(17) {
            0 if ty.signed() => format!("{a}.abs()"),
            1 if ty.signed() => format!("{a}.signum()"),
            0 | 1 => format!("{a}.count_zeros() as {name}"),
            2 => format!("{a}.min({b})"),
            3 => format!("{a}.max({b})"),
            4 => format!("{a}.clamp({b}, {c})"),
            5 => format!("{a}.pow(({}) % 7)", self.expr(&Ty::Int("u32"), depth, false)),
            6 => format!("{a}.wrapping_mul({b})"),
            7 => format!("{a}.wrapping_sub({b})"),
            8 => format!("{a}.saturating_add({b})"),
            9 => format!("{a}.saturating_sub({b})"),
            10 => format!("({a}.leading_zeros() as {name})"),
            11 => format!("({a}.trailing_zeros() as {name})"),
            12 => format!("{a}.rotate_left({})", self.expr(&Ty::Int("u32"), depth, true)),
            13 => format!("{a}.rem_euclid({})", 1 + self.random.below(9)),
            14 => format!("{a}.div_euclid({b})"),
            15 => format!("({a}.abs_diff({b}) as {name})"),
            _ => format!("({a}.count_ones() as {name})"),
        }
    }

    fn int(&mut self, ty: &Ty, name: &str, depth: usize) -> String {
        let a = self.expr(ty, depth, false);
        let random = self.random.below(100);
        match random {
            0..=34 => {
                let op = self.random.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({a} {op} {})", self.expr(ty, depth, true))
            }
            35..=44 => {
                let op = self.random.pick(&["/", "%"]);
                let b = self.expr(ty, depth, false);
                match self.random.below(4) {
                    0 => format!("({a} {op} {b})"),
                    1 => format!("({a} {op} {})", 1 + self.random.below(9)),
                    _ => format!("({a} {op} ({b} | 1))"),
                }
            }
            45..=52 => {
                let op = self.random.pick(&["<<", ">>"]);
                let by = Ty::Int(self.random.pick(&["u32", "i32", "u8", "i64"]));
                format!("({a} {op} {})", self.expr(&by, depth, false))
            }
            53..=55 => format!("(!{a})"),
            56..=58 if ty.signed() => format!("(-{a})"),
            56..=75 => {
                // A cast from anything that has one.
                let from = match self.random.below(6) {
                    0 => Ty::Float("f32"),
                    1 => Ty::Float("f64"),
                    2 => Ty::Bool,
                    3 => Ty::Hue,
                    _ => Ty::Int(self.random.pick(&INTS)),
                };
                format!("({} as {name})", self.expr(&from, depth, false))
            }
            _ => self.int_method(ty, name, &a, depth),
        }
        .into_parenthesised()
    }

    fn float(&mut self, ty: &Ty, name: &str, depth: usize) -> String {
        if self.random.chance(12) {
            let half = self.random.pick(&HALVES);
            let half = self.expr(&Ty::Half(half), depth, false);
            return match self.random.below(3) {
                0 if name == "f64" => format!("{half}.to_f64()"),
                0 => format!("{half}.to_f32()"),
                _ => format!("({half}.widen() as {name})"),
            };
        }
        let a = self.expr(ty, depth, false);
        match self.random.below(20) {
            0..=7 => {
                let op = self.random.pick(&["+", "-", "*", "/", "+", "*", "%"]);
                format!("({a} {op} {})", self.expr(ty, depth, true))
            }
            8 => format!("(-{a})"),
            9 | 10 => {
                let from = match self.random.below(4) {
                    0 => Ty::Float("f32"),
                    1 => Ty::Float("f64"),
                    _ => Ty::Int(self.random.pick(&INTS)),
                };
                format!("({} as {name})", self.expr(&from, depth, false))
            }
            // Which zero is the lesser, Rust leaves open.
            11 => format!("({a}.min({}) + 0.0)", self.expr(ty, depth, true)),
            12 => format!("({a}.max({}) + 0.0)", self.expr(ty, depth, true)),
            13 => format!("{a}.clamp(-1.5, 1.0e6)"),
            14 => {
                let (b, c) = (self.expr(ty, depth, true), self.expr(ty, depth, true));
                format!("{a}.mul_add({b}, {c})")
            }
            15 => format!("{a}.powi(({}) % 6)", self.expr(&Ty::Int("i32"), depth, false)),
            // The sign of a NaN is open, too.
            16 => format!(
                "{{ let sign = {}; if sign.is_nan() {{ 0.5 }} else {{ {a}.copysign(sign) }} }}",
                self.expr(ty, depth, false)
            ),
            17 => format!("{a}.rem_euclid({})", self.expr(ty, depth, true)),
            _ => {
                let method = self.random.pick(&[
                    "abs",
                    "sqrt",
                    "floor",
                    "ceil",
                    "round",
                    "trunc",
                    "fract",
                    "recip",
                    "signum",
                    "round_ties_even",
                    "to_degrees",
                    "to_radians",
                ]);
                format!("{a}.{method}()")
            }
        }
    }

    fn half(&mut self, ty: &Ty, name: &str, depth: usize) -> String {
        match self.random.below(8) {
            0..=3 => {
                let value = self.expr(&Ty::Float("f32"), depth, false);
                let rounded = self.random.pick(&["narrow", "from_f32"]);
                format!("{name}::{rounded}({value})")
            }
            4 => format!("(-{})", self.expr(ty, depth, false)),
            _ => {
                let op = self.random.pick(&["+", "-", "*", "/"]);
                let (a, b) = (self.expr(ty, depth, false), self.expr(ty, depth, false));
                format!("({a} {op} {b})")
            }
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        match self.random.below(12) {
            0..=4 => {
                let ty = match self.random.below(6) {
                    5 => Ty::Half(self.random.pick(&HALVES)),
                    0 => Ty::Float("f32"),
                    1 => Ty::Float("f64"),
                    2 => Ty::Hue,
                    _ => Ty::Int(self.random.pick(&INTS)),
                };
                let op = self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
                let (a, b) = (self.expr(&ty, depth, false), self.expr(&ty, depth, true));
                format!("({a} {op} {b})")
            }
            5..=7 => {
                let op = self.random.pick(&["&&", "||", "&", "|", "^"]);
                let (a, b) =
                    (self.expr(&Ty::Bool, depth, false), self.expr(&Ty::Bool, depth, false));
                format!("({a} {op} {b})")
            }
            8 => format!("(!{})", self.expr(&Ty::Bool, depth, false)),
            9 => {
                let ty = Ty::Float(self.random.pick(&["f32", "f64"]));
                let method = self.random.pick(&["is_nan", "is_finite", "is_infinite"]);
                format!("{}.{method}()", self.expr(&ty, depth, false))
            }
            10 => {
                let ty = Ty::Int(self.random.pick(&INTS));
                let (value, low) = (self.expr(&ty, depth, false), self.random.below(5));
                format!(
                    "matches!({{ {value} }}, 0 | {}..={} if {})",
                    low + 1,
                    low + 40,
                    self.leaf(&Ty::Bool, false)
                )
            }
            _ => format!("matches!({}, Hue::Red | Hue::Blue)", self.expr(&Ty::Hue, depth, false)),
        }
    }

    fn point(&mut self, depth: usize) -> String {
        let x = self.expr(&Ty::Float("f64"), depth, true);
        let tag = self.expr(&Ty::Int("u8"), depth, true);
        match self.place(&Ty::Point, false) {
            Some(p) if self.random.chance(50) => format!("Point {{ tag: {tag}, x: {x}, ..{p} }}"),
            _ => {
                let weights = self.expr(&Ty::Array(Box::new(Ty::Float("f32")), 3), depth, true);
                let double = self.expr(&Ty::Int("i16"), depth, true);
                format!("Point {{ double: {double}, x: {x}, weights: {weights}, tag: {tag} }}")
            }
        }
    }
}

/// A method call binds tighter than what may stand before it.
trait Parenthesised {
    fn into_parenthesised(self) -> String;
}

impl Parenthesised for String {
    fn into_parenthesised(self) -> String {
        if self.starts_with('(') && self.ends_with(')') { self } else { format!("({self})") }
    }
}

/// The parts of `place`, of type `of`, that have type `ty`.
fn parts(place: &str, of: &Ty, ty: &Ty, found: &mut Vec<String>, depth: usize) {
    if of == ty {
        found.push(place.into());
    }
    if depth > 2 {
        return;
    }
    let mut part =
        |suffix: &str, of: &Ty| parts(&format!("{place}{suffix}"), of, ty, found, depth + 1);
    match of {
        Ty::Pair(a, b) => {
            part(".0", a);
            part(".1", b);
        }
        Ty::Array(item, n) => part(&format!("[#{n}]"), item),
        Ty::Point => {
            part(".tag", &Ty::Int("u8"));
            part(".x", &Ty::Float("f64"));
            part(".weights", &Ty::Array(Box::new(Ty::Float("f32")), 3));
            part(".double", &Ty::Int("i16"));
        }
        _ => {}
    }
}
