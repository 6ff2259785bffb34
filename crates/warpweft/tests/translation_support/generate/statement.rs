//! Random statements and blocks.

use super::{Frame, INTS, Ty, Variable, Writer};

impl Writer<'_> {
    /// A block of up to `statements` statements, with a value of type `value` at its end.
    pub(super) fn block(&mut self, statements: usize, value: Option<&Ty>, depth: usize) -> String {
        let variables = self.variables.clone();
        let mut text = String::from("{ ");
        for _ in 0..statements {
            if !self.spend() {
                break;
            }
            text.push_str(&self.statement(depth + 1));
            text.push('\n');
        }
        if self.random.chance(40) {
            text.push_str(&self.note());
        }
        if let Some(ty) = value {
            text.push_str(&self.expr(ty, depth + 1, false));
        }
        text.push_str(" }");
        self.variables = variables;
        text
    }

    pub(super) fn statement(&mut self, depth: usize) -> String {
        match self.random.below(22) {
            0..=5 => self.local(depth),
            6..=9 => self.assignment(depth),
            10 | 11 if depth < 5 => {
                let condition = self.expr(&Ty::Bool, depth, false);
                let then = self.block(2, None, depth);
                match self.random.below(3) {
                    0 => format!("if {condition} {then}"),
                    1 => format!("if {condition} {then} else {}", self.block(2, None, depth)),
                    _ => {
                        let other = self.expr(&Ty::Bool, depth, false);
                        let (b, c) = (self.block(1, None, depth), self.block(1, None, depth));
                        format!("if {condition} {then} else if {other} {b} else {c}")
                    }
                }
            }
            12 | 13 if depth < 5 => self.choice(None, depth) + ";",
            14..=17 if depth < 5 && self.frames.len() < 2 => self.counted_loop(depth),
            18 => {
                let condition = self.expr(&Ty::Bool, depth, false);
                format!("if {condition} {{ return {}; }}", self.result(depth))
            }
            19 | 20 => self.jump(depth),
            _ => self.local(depth),
        }
    }

    fn local(&mut self, depth: usize) -> String {
        let ty = self.ty(2);
        if let (Ty::Pair(a, b), true) = (&ty, self.random.chance(60)) {
            let value = self.expr(&ty, depth, false);
            let (x, y) = (self.fresh(), self.fresh());
            self.variables.push(Variable { name: x.clone(), ty: (**a).clone(), mutable: false });
            self.variables.push(Variable { name: y.clone(), ty: (**b).clone(), mutable: true });
            return format!("let ({x}, mut {y}) = {value};");
        }
        let annotated = self.random.chance(40);
        let value = self.expr(&ty, depth, annotated);
        // Now and then a name is used again, for another type.
        let old = self.random.below(self.variables.len().max(1));
        let name = match self.variables.get(old).map(|variable| variable.name.clone()) {
            Some(name) if name != "sink" && self.random.chance(15) => {
                self.variables.retain(|variable| variable.name != name);
                name
            }
            _ => self.fresh(),
        };
        let mutable = self.random.chance(60);
        let mark = if mutable { "mut " } else { "" };
        let note = if annotated { format!(": {}", ty.name()) } else { String::new() };
        self.variables.push(Variable { name: name.clone(), ty, mutable });
        format!("let {mark}{name}{note} = {value};")
    }

    fn assignment(&mut self, depth: usize) -> String {
        let ty = match self.random.below(6) {
            0..=2 => Ty::Int(self.random.pick(&INTS)),
            3 => Ty::Float("f32"),
            4 => Ty::Float("f64"),
            _ => self.ty(1),
        };
        let value = self.expr(&ty, depth, true);
        let Some(place) = self.place(&ty, true) else { return self.local(depth) };
        let op = match ty {
            Ty::Int(_) => {
                self.random.pick(&["=", "+=", "-=", "*=", "^=", "|=", "&=", "<<=", ">>="])
            }
            Ty::Float(_) | Ty::Half(_) => self.random.pick(&["=", "+=", "-=", "*=", "/="]),
            Ty::Bool => self.random.pick(&["=", "^=", "|=", "&="]),
            _ => "=",
        };
        format!("{place} {op} {value};")
    }

    /// A `match`, with values of type `value` or for its effect.
    pub(super) fn choice(&mut self, value: Option<&Ty>, depth: usize) -> String {
        let arm = |writer: &mut Self, head: String| {
            let statements = writer.random.below(2);
            let body = writer.block(statements + usize::from(value.is_none()), value, depth);
            format!("{head} => {body} ")
        };
        let mut text;
        match self.random.below(4) {
            0 => {
                text = format!("match {} {{ ", self.expr(&Ty::Hue, depth, false));
                for head in ["Hue::Green", "Hue::Red | Hue::Blue"] {
                    text.push_str(&arm(self, head.into()));
                }
            }
            1 => {
                let pair = Ty::Pair(Box::new(Ty::Bool), Box::new(Ty::Int("u8")));
                // A copy: a guard may not assign what is matched.
                text = format!("match {{ {} }} {{ ", self.expr(&pair, depth, false));
                let name = self.fresh();
                text.push_str(&arm(self, "(true, 0..=9)".into()));
                let before = self.variables.clone();
                let variable = Variable { name: name.clone(), ty: Ty::Int("u8"), mutable: false };
                self.variables.push(variable);
                let guard = self.expr(&Ty::Bool, 4, false);
                text.push_str(&arm(self, format!("(false, {name}) if {guard}")));
                self.variables = before;
                text.push_str(&arm(self, "_".into()));
            }
            _ => {
                let ty = Ty::Int(self.random.pick(&INTS));
                text = format!("match {} {{ ", self.expr(&ty, depth, false));
                let low = self.random.below(6);
                text.push_str(&arm(self, format!("{low}")));
                text.push_str(&arm(self, format!("{} | {}..{}", low + 1, low + 3, low + 50)));
                if ty.signed() {
                    text.push_str(&arm(self, format!("-{}..=-1", low + 2)));
                }
                let name = self.fresh();
                let before = self.variables.clone();
                let mutable = self.random.chance(30);
                self.variables.push(Variable { name: name.clone(), ty, mutable });
                let mark = if mutable { "mut " } else { "" };
                text.push_str(&arm(self, format!("{mark}{name}")));
                self.variables = before;
            }
        }
        text.push('}');
        text
    }

    fn label(&mut self) -> (Option<String>, String) {
        match self.random.chance(40) {
            true => {
                let name = format!("'l{}", self.fresh());
                (Some(name.clone()), format!("{name}: "))
            }
            false => (None, String::new()),
        }
    }

    fn counted_loop(&mut self, depth: usize) -> String {
        let (label, mark) = self.label();
        if self.random.chance(25) {
            let counter = self.fresh();
            let most = 1 + self.random.below(5);
            let base = std::mem::replace(&mut self.base, self.frames.len());
            let condition = self.expr(&Ty::Bool, depth, false);
            self.base = base;
            self.frames.push(Frame { label, can_continue: true, valued: false });
            let body = self.block(2, None, depth);
            self.frames.pop();
            return format!(
                "let mut {counter} = 0; {mark}while {counter} < {most} && {condition} {{ {counter} += 1; {body} }}"
            );
        }
        let ty = Ty::Int(self.random.pick(&INTS));
        let low = self.random.below(3);
        let high = match self.random.below(3) {
            0 => format!("({} % 6)", self.expr(&ty, depth, false)),
            1 => format!("{low} + {}", self.random.below(4)),
            _ => format!("{}", low + self.random.below(5)),
        };
        let range = format!("{low}{}{high}", self.random.pick(&["..", "..="]));
        let range = match self.random.below(6) {
            0 => format!("({range}).rev()"),
            1 => format!("({range}).step_by({})", 1 + self.random.below(3)),
            2 => format!(
                "({range}).rev().step_by(({}) % 3 + 1)",
                self.expr(&Ty::Int("usize"), 4, false)
            ),
            _ => range,
        };
        let range = match range.split_once("..") {
            // The type of the variable, on one end.
            Some((start, rest)) => format!("{start}{}..{rest}", ty.name()),
            None => range,
        };
        let name = self.fresh();
        let before = self.variables.clone();
        self.variables.push(Variable { name: name.clone(), ty, mutable: false });
        self.frames.push(Frame { label, can_continue: true, valued: false });
        let body = self.block(3, None, depth);
        self.frames.pop();
        self.variables = before;
        format!("{mark}for {name} in {range} {body}")
    }

    /// A `loop` that ends with a value.
    pub(super) fn valued_loop(&mut self, ty: &Ty, depth: usize) -> String {
        if self.frames.len() >= 2 {
            return self.expr(ty, 5, false);
        }
        let counter = self.fresh();
        let (label, mark) = self.label();
        self.frames.push(Frame { label, can_continue: false, valued: true });
        let body = self.block(2, None, depth);
        let condition = self.expr(&Ty::Bool, depth, false);
        // In the loop, too: a jump without a label would be out of this loop.
        let value = self.expr(ty, depth, false);
        self.frames.pop();
        let most = 1 + self.random.below(4);
        format!(
            "{{ let mut {counter} = 0; {mark}loop {{ {counter} += 1; {body} if {counter} > {most} || {condition} {{ break {value}; }} }} }}"
        )
    }

    /// A jump under a condition, out of or to the next turn of a loop around.
    fn jump(&mut self, depth: usize) -> String {
        if self.frames.len() <= self.base {
            return self.local(depth);
        }
        let at = self.base + self.random.below(self.frames.len() - self.base);
        let innermost = at + 1 == self.frames.len();
        let frame = self.frames[at].clone();
        let label = match (&frame.label, innermost) {
            (Some(label), _) => format!(" {label}"),
            (None, true) => String::new(),
            (None, false) => return self.local(depth),
        };
        let condition = self.expr(&Ty::Bool, depth, false);
        match (frame.can_continue && self.random.chance(50), frame.valued) {
            (true, _) => format!("if {condition} {{ continue{label}; }}"),
            (false, false) => format!("if {condition} {{ break{label}; }}"),
            (false, true) => self.local(depth),
        }
    }
}
