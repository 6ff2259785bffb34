//! An element function as weights of its neighbours: its text is evaluated with sums of cells as values, which is
//! possible if and only if it is linear. Not: what is done with the weights.

use std::collections::{BTreeMap, HashMap};

use crate::spec::proof::syntax::{Expr, Functor, Reader, Statement};
use crate::spec::stage::Stage;

/// Calls of functions within functions at most.
const DEEPEST: usize = 16;

/// Weights by offset.
pub(crate) type Weights = BTreeMap<Vec<isize>, f64>;

/// The type of a number, which says how operations round.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Single,
    Double,
    /// The least and the greatest of the type; f64 holds all between.
    Integer([f64; 2]),
}

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64, Kind),
    /// A sum of weighted cells and a number.
    Sum(Weights, f64),
    Truth(bool),
    List(Vec<Value>),
    /// A variable that has no value yet.
    None,
}

/// Either a value or why the function is not linear.
type Evaluated<T = Value> = Result<T, String>;

/// The weights of the cells of field 0 that `stage` adds up.
///
/// # Errors
/// Why it is not linear, to follow "because it".
pub(crate) fn weights(stage: &dyn Stage) -> Result<Weights, String> {
    if stage.knows().anything() {
        return Err("is told the index of its cell or the step".into());
    }
    if !stage.tables().is_empty() {
        return Err("reads a table".into());
    }
    let Functor { text, members, body } = Functor::of(stage)?;
    let mut function = Function { text: &text, depth: 0, variables: HashMap::new(), next: None };
    for (member, value) in members {
        let value = function.value(&value)?;
        function.variables.insert(member, value);
    }
    function.run(&body)?;
    match function.next {
        Some(Value::Sum(weights, 0.0)) => Ok(weights),
        Some(Value::Sum(_, constant) | Value::Number(constant, _)) => {
            Err(format!("adds {constant}, whatever the cells hold"))
        }
        _ => Err("assigns no sum of cells".into()),
    }
}

/// A function that is being evaluated.
struct Function<'a> {
    text: &'a str,
    depth: usize,
    variables: HashMap<String, Value>,
    /// The new value of the field.
    next: Option<Value>,
}

impl Function<'_> {
    /// Runs statements up to a `return`, whose value it gives.
    fn run(&mut self, statements: &[Statement]) -> Evaluated<Option<Value>> {
        for statement in statements {
            let returned = match statement {
                Statement::Let(name, value) => {
                    let value =
                        value.as_ref().map_or(Ok(Value::None), |value| self.value(value))?;
                    self.variables.insert(name.clone(), value);
                    None
                }
                Statement::Assign(Expr::Name(name), value) => {
                    let value = self.value(value)?;
                    self.variables.insert(name.clone(), value);
                    None
                }
                Statement::Assign(Expr::Next(0), value) => {
                    self.next = Some(self.value(value)?);
                    None
                }
                Statement::Assign(..) => return Err("assigns a part of a value".into()),
                Statement::Block(inner) => self.run(inner)?,
                Statement::If(condition, then, other) => {
                    let branch = if self.truth(condition)? { then } else { other };
                    self.run(branch)?
                }
                Statement::Return(None) => Some(Value::None),
                Statement::Return(Some(value)) => Some(self.value(value)?),
            };
            if returned.is_some() {
                return Ok(returned);
            }
        }
        Ok(None)
    }

    fn truth(&self, condition: &Expr) -> Evaluated<bool> {
        match self.value(condition)? {
            Value::Truth(truth) => Ok(truth),
            _ => Err("decides by what is no condition".into()),
        }
    }

    fn value(&self, expr: &Expr) -> Evaluated {
        match expr {
            Expr::Name(name) if name == "true" || name == "false" => {
                Ok(Value::Truth(name == "true"))
            }
            Expr::Name(name) => match self.variables.get(name) {
                Some(Value::None) => Err(format!("uses `{name}`, which has no value")),
                Some(value) => Ok(value.clone()),
                None => self.constant(name),
            },
            Expr::Number(text) => number(text),
            Expr::Tap(0, offset) => Ok(Value::Sum([(offset.clone(), 1.0)].into(), 0.0)),
            Expr::Tap(..) => Err("reads several fields".into()),
            Expr::Next(_) => self.next.clone().ok_or_else(|| "reads what it assigns".into()),
            Expr::List(items) => {
                items.iter().map(|item| self.value(item)).collect::<Evaluated<_>>().map(Value::List)
            }
            Expr::Compare(sign, sides) => {
                let [left, right] = [self.value(&sides[0])?, self.value(&sides[1])?];
                let (Value::Number(left, _), Value::Number(right, _)) = (left, right) else {
                    return Err("compares cells".into());
                };
                Ok(Value::Truth(match sign.as_str() {
                    "==" => left == right,
                    "!=" => left != right,
                    "<" => left < right,
                    "<=" => left <= right,
                    ">" => left > right,
                    _ => left >= right,
                }))
            }
            Expr::Choice(parts) => self.value(&parts[if self.truth(&parts[0])? { 1 } else { 2 }]),
            Expr::Call(name, of, arguments) => self.call(name, of, arguments),
        }
    }

    /// An array that stands before the function.
    fn constant(&self, name: &str) -> Evaluated {
        let unknown = || format!("uses `{name}`, which has no value");
        let (_, rest) = self.text.split_once(&format!(" {name} = ")).ok_or_else(unknown)?;
        let (value, _) = rest.split_once(';').ok_or_else(unknown)?;
        let values = Reader::of(value).all().map_err(|_| unknown())?;
        values.first().map_or_else(|| Err(unknown()), |value| self.value(value))
    }

    fn call(&self, name: &str, of: &str, arguments: &[Expr]) -> Evaluated {
        let values =
            arguments.iter().map(|value| self.value(value)).collect::<Evaluated<Vec<_>>>()?;
        let Some(name) = name.strip_prefix("ww::") else {
            return self.device_function(name, values);
        };
        if let (Some(kind), [Value::Number(value, _)]) = (integer(name), &values[..]) {
            return rounded(*value, kind);
        }
        match (name, &values[..]) {
            ("add", [a, b]) => add(a, b, 1.0),
            ("sub", [a, b]) => add(a, b, -1.0),
            ("mul", [a, b]) => multiply(a, b),
            ("div", [a, b, ..]) => divide(a, b),
            ("neg", [a]) => multiply(a, &Value::Number(-1.0, kind_of(a))),
            ("mul_add", [a, b, c]) => add(&multiply(a, b)?, c, 1.0),
            ("cast", [value]) => cast(of, value),
            // Cells are f32 or f64, which nothing widens.
            ("widen", [value]) => Ok(value.clone()),
            ("at", [Value::List(items), Value::Number(index, _), ..]) => {
                let item = (*index >= 0.0).then(|| items.get(*index as usize)).flatten();
                item.cloned().ok_or_else(|| "indexes out of bounds".into())
            }
            ("list", items) => Ok(Value::List(items.to_vec())),
            (name, [Value::Number(value, kind @ (Kind::Single | Kind::Double))]) => {
                let value = match name {
                    "abs" => value.abs(),
                    "sqrt" => value.sqrt(),
                    "exp" => value.exp(),
                    "ln" => value.ln(),
                    "sin" => value.sin(),
                    "cos" => value.cos(),
                    "recip" => value.recip(),
                    _ => return Err(format!("calls `{name}`")),
                };
                rounded(value, *kind)
            }
            (name, _) => Err(format!("calls `{name}`")),
        }
    }

    /// A `#[device]` function, evaluated like this one.
    fn device_function(&self, name: &str, values: Vec<Value>) -> Evaluated {
        let text = self.text;
        let found = text.split_once(&format!(" {name}("));
        let (_, rest) =
            found.filter(|_| self.depth < DEEPEST).ok_or_else(|| format!("calls `{name}`"))?;
        let (declared, rest) = rest.split_once(')').ok_or("has another form")?;
        let (_, body) = rest.split_once('{').ok_or("has another form")?;
        let names = declared.split(',').filter_map(|one| one.split_whitespace().last());
        let variables = names.map(String::from).zip(values).collect();
        let mut inner = Function { text, depth: self.depth + 1, variables, next: None };
        let body = Reader::of(body).statements();
        let body = body.map_err(|piece| format!("calls `{name}`, whose text has `{piece}`"))?;
        inner.run(&body)?.ok_or_else(|| format!("calls `{name}`, which returns nothing"))
    }
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Number(_, kind) => *kind,
        _ => Kind::Double,
    }
}

/// The type of integers of this name, if it is one.
fn integer(name: &str) -> Option<Kind> {
    // Beyond 2^53, f64 does not hold every integer.
    let exact = (1u64 << 53) as f64;
    let range = match name {
        "i8" => [f64::from(i8::MIN), f64::from(i8::MAX)],
        "i16" => [f64::from(i16::MIN), f64::from(i16::MAX)],
        "i32" => [f64::from(i32::MIN), f64::from(i32::MAX)],
        "i64" | "isize" => [-exact, exact],
        "u8" => [0.0, f64::from(u8::MAX)],
        "u16" => [0.0, f64::from(u16::MAX)],
        "u32" => [0.0, f64::from(u32::MAX)],
        "u64" | "usize" => [0.0, exact],
        _ => return None,
    };
    Some(Kind::Integer(range))
}

/// A number as the function computes with it. Integers that would wrap or saturate are refused.
fn rounded(value: f64, kind: Kind) -> Evaluated {
    Ok(match kind {
        Kind::Single => Value::Number(f64::from(value as f32), kind),
        Kind::Double => Value::Number(value, kind),
        Kind::Integer([least, most]) => {
            let whole = value.trunc();
            if !(least..=most).contains(&whole) {
                return Err(format!("has the integer {whole}, outside of {least} to {most}"));
            }
            Value::Number(whole, kind)
        }
    })
}

/// `a + sign * b`.
fn add(a: &Value, b: &Value, sign: f64) -> Evaluated {
    let parts = |value: &Value| match value {
        Value::Number(value, _) => Ok((Weights::new(), *value)),
        Value::Sum(weights, constant) => Ok((weights.clone(), *constant)),
        _ => Err("adds what is no number".to_string()),
    };
    if let (Value::Number(a, kind), Value::Number(b, _)) = (a, b) {
        return rounded(a + sign * b, *kind);
    }
    let ((mut weights, constant), (others, other)) = (parts(a)?, parts(b)?);
    for (offset, weight) in others {
        *weights.entry(offset).or_insert(0.0) += sign * weight;
    }
    Ok(Value::Sum(weights, constant + sign * other))
}

fn multiply(a: &Value, b: &Value) -> Evaluated {
    match (a, b) {
        (Value::Number(a, kind), Value::Number(b, _)) => rounded(a * b, *kind),
        (Value::Sum(weights, constant), Value::Number(by, _))
        | (Value::Number(by, _), Value::Sum(weights, constant)) => {
            let weights = weights.iter().map(|(offset, weight)| (offset.clone(), weight * by));
            Ok(Value::Sum(weights.collect(), constant * by))
        }
        (Value::Sum(..), Value::Sum(..)) => Err("multiplies cells by cells".into()),
        _ => Err("multiplies what is no number".into()),
    }
}

fn divide(a: &Value, b: &Value) -> Evaluated {
    match (a, b) {
        (Value::Number(a, kind), Value::Number(b, _)) => rounded(a / b, *kind),
        (Value::Sum(weights, constant), Value::Number(by, _)) => {
            let weights = weights.iter().map(|(offset, weight)| (offset.clone(), weight / by));
            Ok(Value::Sum(weights.collect(), constant / by))
        }
        _ => Err("divides by cells".into()),
    }
}

fn cast(to: &str, value: &Value) -> Evaluated {
    let kind = match to {
        "ww::f32" => Kind::Single,
        "ww::f64" => Kind::Double,
        "ww::f16" | "ww::bf16" => return Err(format!("converts to {to}")),
        to => integer(to.trim_start_matches("ww::")).ok_or_else(|| format!("converts to {to}"))?,
    };
    match value {
        Value::Number(value, _) => rounded(*value, kind),
        sum @ Value::Sum(..) if !matches!(kind, Kind::Integer(_)) => Ok(sum.clone()),
        _ => Err(format!("converts cells to {}", to.trim_start_matches("ww::"))),
    }
}

/// A literal.
fn number(text: &str) -> Evaluated {
    let wrong = || format!("has the number `{text}`");
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let hexadecimal = digits.strip_prefix("0x");
    let float = digits.contains('.')
        || digits.contains('p')
        || (hexadecimal.is_none() && digits.contains('e'));
    let sign = if negative { -1.0 } else { 1.0 };
    if !float {
        let digits = digits.trim_end_matches(['u', 'l']);
        let value = match hexadecimal {
            Some(_) => i64::from_str_radix(digits.trim_start_matches("0x"), 16).ok(),
            None => digits.parse().ok(),
        };
        let kind = integer("i64").ok_or_else(wrong)?;
        return value.ok_or_else(wrong).and_then(|value| rounded(sign * value as f64, kind));
    }
    let (digits, kind) = match digits.strip_suffix('f') {
        Some(digits) => (digits, Kind::Single),
        None => (digits, Kind::Double),
    };
    let value = match hexadecimal {
        None => digits.parse().ok(),
        Some(_) => crate::spec::identity::hexadecimal(digits),
    };
    value.ok_or_else(wrong).and_then(|value: f64| rounded(sign * value, kind))
}
