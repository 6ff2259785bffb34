//! Methods of numbers: the closed list that the device prelude has.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::{Lower, Lowered};
use crate::diag::reject;
use crate::ir::Expr;

/// Name, arguments next to the receiver, and the faults it may raise.
const METHODS: &[(&str, usize, &[&str])] = &[
    // Of integers and floats.
    ("abs", 0, &[]),
    ("signum", 0, &[]),
    ("min", 1, &[]),
    ("max", 1, &[]),
    ("clamp", 2, &["clamp needs min <= max"]),
    ("rem_euclid", 1, REMAINDER),
    ("div_euclid", 1, DIVISION),
    // Of floats.
    ("sqrt", 0, &[]),
    ("mul_add", 2, &[]),
    ("floor", 0, &[]),
    ("ceil", 0, &[]),
    ("round", 0, &[]),
    ("round_ties_even", 0, &[]),
    ("trunc", 0, &[]),
    ("fract", 0, &[]),
    ("copysign", 1, &[]),
    ("powi", 1, &[]),
    ("recip", 0, &[]),
    ("to_degrees", 0, &[]),
    ("to_radians", 0, &[]),
    ("is_nan", 0, &[]),
    ("is_finite", 0, &[]),
    ("is_infinite", 0, &[]),
    ("is_sign_negative", 0, &[]),
    ("is_sign_positive", 0, &[]),
    ("to_bits", 0, &[]),
    // Of floats of two bytes.
    ("to_f32", 0, &[]),
    ("exp", 0, &[]),
    ("exp2", 0, &[]),
    ("exp_m1", 0, &[]),
    ("ln", 0, &[]),
    ("ln_1p", 0, &[]),
    ("log2", 0, &[]),
    ("log10", 0, &[]),
    ("sin", 0, &[]),
    ("cos", 0, &[]),
    ("tan", 0, &[]),
    ("asin", 0, &[]),
    ("acos", 0, &[]),
    ("atan", 0, &[]),
    ("atan2", 1, &[]),
    ("sinh", 0, &[]),
    ("cosh", 0, &[]),
    ("tanh", 0, &[]),
    ("powf", 1, &[]),
    ("cbrt", 0, &[]),
    ("hypot", 1, &[]),
    // Of integers.
    ("pow", 1, &[]),
    ("wrapping_add", 1, &[]),
    ("wrapping_sub", 1, &[]),
    ("wrapping_mul", 1, &[]),
    ("wrapping_neg", 0, &[]),
    ("wrapping_abs", 0, &[]),
    ("wrapping_pow", 1, &[]),
    ("wrapping_shl", 1, &[]),
    ("wrapping_shr", 1, &[]),
    ("wrapping_div", 1, &["attempt to divide by zero"]),
    ("wrapping_rem", 1, &["attempt to calculate the remainder with a divisor of zero"]),
    ("saturating_add", 1, &[]),
    ("saturating_sub", 1, &[]),
    ("saturating_mul", 1, &[]),
    ("unsigned_abs", 0, &[]),
    ("abs_diff", 1, &[]),
    ("count_ones", 0, &[]),
    ("count_zeros", 0, &[]),
    ("leading_zeros", 0, &[]),
    ("trailing_zeros", 0, &[]),
    ("rotate_left", 1, &[]),
    ("rotate_right", 1, &[]),
    ("swap_bytes", 0, &[]),
    ("reverse_bits", 0, &[]),
    ("is_positive", 0, &[]),
    ("is_negative", 0, &[]),
    ("is_power_of_two", 0, &[]),
];
const DIVISION: &[&str] = &["attempt to divide by zero", "attempt to divide with overflow"];
const REMAINDER: &[&str] = &[
    "attempt to calculate the remainder with a divisor of zero",
    "attempt to calculate the remainder with overflow",
];

/// The faults of method `name`, if there is such a method with that many arguments.
pub fn faults(name: &str, arguments: usize) -> Option<&'static [&'static str]> {
    METHODS
        .iter()
        .find(|(known, count, _)| *known == name && *count == arguments)
        .map(|(_, _, faults)| *faults)
}

/// The shadow of method `name` of numbers, of type `owner` where that is given: Rust's own, which a
/// trait of the user's is not.
pub fn own(
    name: &Ident,
    owner: TokenStream,
    receiver: &TokenStream,
    arguments: &[TokenStream],
    span: Span,
) -> TokenStream {
    quote_spanned! {span=>
        ::warpweft::element::method::method #owner(
            ::warpweft::element::method::name::#name,
            #receiver,
            (#(#arguments,)*),
        )
    }
}

impl Lower<'_> {
    pub fn method(&mut self, call: &syn::ExprMethodCall) -> syn::Result<Lowered> {
        if let Some(found) = self.slice_method(call)? {
            return Ok(found);
        }
        let span = call.span();
        let name = call.method.to_string();
        let Some(faults) = faults(&name, call.args.len()) else {
            return self.other_method(call, &name);
        };
        let receiver = self.referent(&call.receiver)?;
        let (rust, values) = self.list(&call.args)?;
        let (r, method) = (receiver.rust, &call.method);
        let arguments = std::iter::once(receiver.ir).chain(values).collect();
        let sites = faults.iter().map(|what| self.site(method, what)).collect();
        let rust = own(method, quote!(), &r, &rust, span);
        Ok(Lowered::new(rust, Expr::Method { name, arguments, sites }))
    }

    /// Methods that are not plain functions of numbers.
    fn other_method(&mut self, call: &syn::ExprMethodCall, name: &str) -> syn::Result<Lowered> {
        match (name, call.args.len()) {
            ("to_f64" | "widen", 0) => self.widened(call, name),
            ("len", 0) => self.length(call),
            _ => Err(unknown(&call.method, name)),
        }
    }

    /// `x.to_f64()` and `x.widen()`.
    fn widened(&mut self, call: &syn::ExprMethodCall, name: &str) -> syn::Result<Lowered> {
        let (span, method) = (call.span(), &call.method);
        let value = self.referent(&call.receiver)?;
        let (beside, none, of) = match name {
            "widen" => (quote!(method::by_reference::Widen), quote!(), quote!(Stored)),
            _ => (quote!(Fields), quote!(0), quote!(Scalar)),
        };
        let rust = value.rust;
        // Not inherent: with the library's traits in scope, another of this name is ambiguous.
        let rust = quote_spanned! {span=> {
            let __value = ::warpweft::element::scalar(#rust);
            {
                use ::warpweft::element::#beside as _;
                (&__value).#method(#none);
            }
            use ::warpweft::element::#of as _;
            __value.#method()
        }};
        if name == "widen" {
            let (name, arguments) = (name.into(), vec![value.ir]);
            return Ok(Lowered::new(rust, Expr::Method { name, arguments, sites: vec![] }));
        }
        let (rust, to) = self.typed(rust, span);
        Ok(Lowered::new(rust, Expr::Cast { to, value: Box::new(value.ir) }))
    }

    /// `array.len()`: the length is part of the type; the array itself is not evaluated again.
    fn length(&mut self, call: &syn::ExprMethodCall) -> syn::Result<Lowered> {
        let (span, method) = (call.span(), &call.method);
        let rust = self.referent(&call.receiver)?.rust;
        let slot = self.slot(span);
        let hole = self.hole(quote!(::warpweft::element::length_of(&#slot, __unit)));
        // As above.
        let rust = quote_spanned! {span=> {
            let __array = #slot.array(#rust);
            {
                use ::warpweft::element::method::by_reference::Len as _;
                (&__array).#method();
            }
            use ::warpweft::element::method::Len as _;
            __array.#method()
        }};
        Ok(Lowered::new(rust, Expr::Value(hole)))
    }
}

/// The error for a method that device code has not.
fn unknown(method: &Ident, name: &str) -> syn::Error {
    let instead = match name {
        "clone" | "to_owned" => "values are copied: drop the call",
        "into" => "write `T::from(x)` or `x as T`",
        "checked_add" | "checked_sub" | "checked_mul" | "checked_div" | "checked_rem"
        | "overflowing_add" | "overflowing_sub" | "overflowing_mul" => {
            "use the `wrapping_` or `saturating_` form, or test before you compute"
        }
        "iter" | "iter_mut" | "into_iter" | "map" | "sum" | "fold" | "enumerate" | "zip"
        | "rev" | "step_by" => "write a `for` loop over a range of indices",
        "unwrap" | "expect" | "unwrap_or" | "is_some" | "is_none" => {
            "device code has no `Option` and no `Result`: use a number or a `bool` next to it"
        }
        _ => {
            "use a method of numbers listed in docs/guide/elements.md, or a function with `#[device]`"
        }
    };
    reject(
        method,
        match METHODS.iter().find(|(known, ..)| *known == name) {
            Some((_, count, _)) => format!("`{name}` takes {count} arguments"),
            None => format!("`{name}` is not a method of numbers in device code"),
        },
        instead,
    )
}
