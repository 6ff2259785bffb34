//! Integer expressions whose value is known while translating: offsets and the bounds of loops.

use syn::{BinOp, Expr, Lit, Type, UnOp};

/// A known integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    pub value: i128,
    /// Its type, where the tokens say it.
    pub ty: Option<Integer>,
    /// The lowest and the highest value on the way to this one, all of the same type.
    reach: (i128, i128),
    /// It was negated: its type, whichever rustc infers, has a sign.
    signed: bool,
}

/// An integer type by its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integer {
    low: i128,
    high: i128,
    /// As wide as an address: a type of its own.
    size: bool,
}

impl Integer {
    fn named(name: &str) -> Option<Self> {
        let size = matches!(name, "isize" | "usize");
        let bits: u32 = if size { 64 } else { name.get(1..)?.parse().ok()? };
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return None;
        }
        match name.as_bytes()[0] {
            b'i' => Some(Self { low: -(1 << (bits - 1)), high: (1 << (bits - 1)) - 1, size }),
            b'u' => Some(Self { low: 0, high: (1 << bits) - 1, size }),
            _ => None,
        }
    }

    /// The type of an offset.
    pub const OFFSET: Self = Self { low: i64::MIN as i128, high: i64::MAX as i128, size: true };

    /// The integer type that `ty` names.
    pub fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::Path(path) => Self::named(&path.path.get_ident()?.to_string()),
            Type::Group(group) => Self::of(&group.elem),
            Type::Paren(paren) => Self::of(&paren.elem),
            _ => None,
        }
    }
}

impl Constant {
    /// `value` of type `ty`, unless rustc would wrap or refuse it.
    pub fn new(value: i128, ty: Option<Integer>) -> Option<Self> {
        Self { value, ty: None, reach: (value, value), signed: false }.typed(ty)
    }

    /// The same value where `ty`, if known, is written next to it.
    pub fn typed(self, ty: Option<Integer>) -> Option<Self> {
        let ty = ty.or(self.ty);
        let (low, high) = self.reach;
        let fits = ty.is_none_or(|ty| ty.low <= low && high <= ty.high);
        fits.then_some(Self { ty, ..self })
    }

    /// The same, unless some type that rustc may infer for it later would have wrapped on the way.
    pub fn certain(self) -> Option<Self> {
        let lowest = if self.signed { i8::MIN.into() } else { 0 };
        let (low, high) = self.reach;
        let fits = lowest <= low && high <= i8::MAX.into();
        (fits || self.ty.is_some()).then_some(self)
    }

    /// `value`, computed from `self` and `other`, which are of its type.
    fn then(self, other: Self, value: i128) -> Option<Self> {
        let low = self.reach.0.min(other.reach.0).min(value);
        let high = self.reach.1.max(other.reach.1).max(value);
        let signed = self.signed || other.signed;
        Self { value, ty: self.ty, reach: (low, high), signed }.typed(other.ty)
    }
}

/// The value of `expr`, with names looked up in `known`.
///
/// There is none where arithmetic leaves a type that is known: rustc would wrap it.
pub fn evaluate(expr: &Expr, known: &dyn Fn(&str) -> Option<Constant>) -> Option<Constant> {
    let of = |expr| evaluate(expr, known);
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) if int.suffix().is_empty() => {
                Constant::new(int.base10_parse().ok()?, None)
            }
            Lit::Int(int) => {
                Constant::new(int.base10_parse().ok()?, Some(Integer::named(int.suffix())?))
            }
            Lit::Byte(byte) => Constant::new(byte.value().into(), Integer::named("u8")),
            _ => None,
        },
        Expr::Paren(inner) => of(&inner.expr),
        Expr::Group(inner) => of(&inner.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => negated(&unary.expr, known),
        Expr::Path(path) => known(&path.path.get_ident()?.to_string()),
        Expr::Call(call) => {
            let value = of(typed_like(call)?)?;
            value.typed(of(call.args.first()?).and_then(|like| like.ty))
        }
        // A value that the cast would change is none.
        Expr::Cast(cast) => {
            Constant::new(of(&cast.expr)?.certain()?.value, Some(Integer::of(&cast.ty)?))
        }
        Expr::Binary(binary) => {
            let (left, right) = (of(&binary.left)?, of(&binary.right)?);
            if let (Some(l), Some(r)) = (left.ty, right.ty)
                && l != r
            {
                return None;
            }
            let ty = left.ty.or(right.ty);
            // A literal next to a typed operand has that type.
            let (left, right) = (left.typed(ty)?, right.typed(ty)?);
            let (l, r) = (left.value, right.value);
            let value = match binary.op {
                BinOp::Add(_) => l.checked_add(r),
                BinOp::Sub(_) => l.checked_sub(r),
                BinOp::Mul(_) => l.checked_mul(r),
                BinOp::Div(_) => l.checked_div(r),
                BinOp::Rem(_) => l.checked_rem(r),
                _ => None,
            };
            left.then(right, value?)
        }
        _ => None,
    }
}

/// `-expr`; the lowest value of a type is a literal that fits only with its sign.
fn negated(expr: &Expr, known: &dyn Fn(&str) -> Option<Constant>) -> Option<Constant> {
    if let Expr::Lit(lit) = expr
        && let Lit::Int(int) = &lit.lit
        && let Some(ty) = Integer::named(int.suffix())
    {
        return Constant::new(int.base10_parse::<i128>().ok()?.checked_neg()?, Some(ty));
    }
    let value = evaluate(expr, known)?;
    Constant { signed: true, ..value }.then(value, value.value.checked_neg()?)
}

/// The value in a call of `like`, by which a written-out loop gives its variable a type.
pub fn typed_like(call: &syn::ExprCall) -> Option<&Expr> {
    let Expr::Path(path) = &*call.func else { return None };
    let names = path.path.segments.iter().map(|segment| segment.ident.to_string());
    let ours = path.path.leading_colon.is_some() && names.eq(["warpweft", "element", "like"]);
    call.args.last().filter(|_| ours)
}
