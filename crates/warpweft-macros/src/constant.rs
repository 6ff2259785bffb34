//! Integer expressions whose value is known while translating: offsets and the bounds of loops.

use syn::{BinOp, Expr, Lit, UnOp};

/// The value of `expr`, with names looked up in `known`.
pub fn evaluate(expr: &Expr, known: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
    let of = |expr| evaluate(expr, known);
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) if !matches!(int.suffix(), "f32" | "f64") => int.base10_parse().ok(),
            Lit::Byte(byte) => Some(byte.value().into()),
            _ => None,
        },
        Expr::Paren(inner) => of(&inner.expr),
        Expr::Group(inner) => of(&inner.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => of(&unary.expr)?.checked_neg(),
        Expr::Path(path) => known(&path.path.get_ident()?.to_string()),
        Expr::Call(call) => of(typed_like(call)?),
        Expr::Cast(cast) => fits(of(&cast.expr)?, &cast.ty),
        Expr::Binary(binary) => {
            let (left, right) = (of(&binary.left)?, of(&binary.right)?);
            match binary.op {
                BinOp::Add(_) => left.checked_add(right),
                BinOp::Sub(_) => left.checked_sub(right),
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Div(_) => left.checked_div(right),
                BinOp::Rem(_) => left.checked_rem(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The value, if a cast to `to` keeps it (a negative `usize` is one that is about to become signed).
fn fits(value: i128, to: &syn::Type) -> Option<i128> {
    let syn::Type::Path(path) = to else { return None };
    let (low, bits) = match path.path.get_ident()?.to_string().as_str() {
        "i8" => (-1 << 7, 7),
        "i16" => (-1 << 15, 15),
        "i32" => (-1 << 31, 31),
        "i64" | "isize" => (-1 << 63, 63),
        "u8" => (0, 8),
        "u16" => (0, 16),
        "u32" => (0, 32),
        "u64" | "usize" => (0, 64),
        _ => return None,
    };
    (low <= value && value < 1i128 << bits).then_some(value)
}

/// The value in a call of `like`, by which a written-out loop gives its variable a type.
pub fn typed_like(call: &syn::ExprCall) -> Option<&Expr> {
    let Expr::Path(path) = &*call.func else { return None };
    let names = path.path.segments.iter().map(|segment| segment.ident.to_string());
    let ours = path.path.leading_colon.is_some() && names.eq(["warpweft", "element", "like"]);
    call.args.last().filter(|_| ours)
}
