//! `#[spawning(team)]`: a function that all lanes of a warp run together, with arrays that they share.
//!
//! On cores a team is one lane. Not here: how calls borrow (`slices`).

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit::Visit;
use syn::{Expr as E, ExprMethodCall, FnArg, ItemFn, Type, parse_quote};

use super::slices::{Argument, device};
use super::spawns::invoked;
use super::{Form, cores_only};
use crate::check::{Binding, Inputs, Lower, Lowered, Operation, attributes};
use crate::diag::reject;
use crate::emit::{Cuda, IF_FAULTS, Returns, mark, weave_used};
use crate::parse::parameters::{Members, Named, members};
use crate::parse::signature::{
    Parameter, Slices, no_lifetimes, output, parameters_and, plain_name, returns_value,
};

/// The C++ name of the team.
const TEAM: &str = "at_team";
/// Numbers of lanes that a team may have.
const LANES: [u32; 5] = [32, 64, 128, 256, 512];
/// What a team tells, and what it does, with how many arguments.
const OPERATIONS: [(&str, usize); 6] =
    [("lane", 0), ("lanes", 0), ("barrier", 0), ("count", 1), ("sum", 1), ("prefix_sum", 1)];

/// The parameters of the function.
struct Shape {
    team: Ident,
    /// Arrays that lanes share: their names and types.
    arrays: Vec<(Ident, Type)>,
    /// What callers pass.
    arguments: Vec<Argument>,
    /// Of all parameters: what the plain function passes.
    passed: Vec<TokenStream>,
    inputs: Vec<FnArg>,
}

impl Shape {
    fn of(function: &ItemFn) -> syn::Result<Self> {
        let signature = &function.sig;
        let hint = "begin with `team: &Team`, which tells the lane";
        let mut all = parameters_and(signature, Slices::All)?.into_iter().zip(&signature.inputs);
        let Some((first, _)) = all.next() else {
            return Err(reject(&signature.ident, "a team's function takes the team", hint));
        };
        let (team, _) = plain_name(&first, "team's")?;
        let is_team = matches!(&first.ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Team"));
        if !is_team || first.reference != Some(false) {
            return Err(reject(&first.whole, "a team's function takes the team first", hint));
        }
        let mut shape = Self {
            team,
            arrays: vec![],
            arguments: vec![],
            passed: vec![quote!(&::warpweft::channels::Team::alone())],
            inputs: vec![],
        };
        for (parameter, input) in all {
            shape.add(parameter, input)?;
        }
        Ok(shape)
    }

    fn add(&mut self, parameter: Parameter, input: &FnArg) -> syn::Result<()> {
        let (ident, _) = plain_name(&parameter, "team's")?;
        if let (Type::Array(array), Some(true)) = (&parameter.ty, parameter.reference) {
            let (words, length) = (&array.elem, &array.len);
            let value = quote!(<#words as ::core::default::Default>::default());
            self.passed.push(quote!(&mut [#value; #length]));
            self.arrays.push((ident, parameter.ty));
            return Ok(());
        }
        self.arguments.push(Argument::of(parameter)?);
        self.passed.push(quote!(#ident));
        self.inputs.push(input.clone());
        Ok(())
    }
}

/// The lanes of a team at most, of an attribute's arguments: `team`, or `team(256)`.
pub fn lanes(attribute: &TokenStream) -> Option<syn::Result<u32>> {
    let parse = |input: syn::parse::ParseStream<'_>| {
        let name: Ident = input.parse()?;
        let lanes = match input.is_empty() {
            true => None,
            false => {
                let inside;
                syn::parenthesized!(inside in input);
                Some(inside.parse::<syn::LitInt>()?)
            }
        };
        Ok((name, lanes))
    };
    let (name, lanes) = syn::parse::Parser::parse2(parse, attribute.clone()).ok()?;
    if name != "team" {
        return None;
    }
    let Some(lanes) = lanes else { return Some(Ok(32)) };
    Some(match lanes.base10_parse::<u32>() {
        Ok(number) if LANES.contains(&number) => Ok(number),
        _ => Err(reject(&lanes, "a team of so many lanes", "take 32, 64, 128, 256 or 512")),
    })
}

pub fn expand(function: ItemFn, lanes: u32) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    for name in ["spawn", "sync"] {
        if let Some(found) = invoked(function.block.to_token_stream(), name) {
            let instead = "spawn calls from a function with `#[spawning]`, which may spawn teams";
            return Err(reject(&found, "a team's function spawns nothing", instead));
        }
    }
    let shape = Shape::of(&function)?;
    let form = translated(&function, &shape, lanes)?;
    let (inner, called) = host(&function, &shape);
    let host = cores_only::expand(called.clone())?;
    let device = device(&called, &shape.arguments, signature, &form);
    Ok(quote!(#inner #host #device))
}

/// The function as it was written under another name, and what callers see.
fn host(function: &ItemFn, shape: &Shape) -> (ItemFn, ItemFn) {
    let name = &function.sig.ident;
    let (mut inner, mut called) = (function.clone(), function.clone());
    inner.attrs = vec![parse_quote!(#[allow(dead_code, non_snake_case)])];
    inner.vis = syn::Visibility::Inherited;
    inner.sig.ident = format_ident!("{}__team", name);
    let (team, passed) = (&inner.sig.ident, &shape.passed);
    let (_, types, _) = function.sig.generics.split_for_impl();
    let types = types.as_turbofish();
    called.sig.inputs = shape.inputs.iter().cloned().collect();
    called.block = parse_quote!({ #team #types (#(#passed),*) });
    (inner, called)
}

/// The function as C++, and the shadow that types it.
fn translated(function: &ItemFn, shape: &Shape, lanes: u32) -> syn::Result<Form> {
    let signature = &function.sig;
    let mut inputs = Lanes(&shape.team);
    let mut lower = Lower::new(&signature.ident, &signature.generics, &mut inputs);
    let name = mark(lower.hole(quote!({
        ::warpweft::channels::define_teams(__unit);
        __name.to_string()
    })));
    let number = mark(lower.hole(quote!(__unit.number(__name).to_string())));
    let size = mark(lower.hole(quote!(::core::mem::size_of::<Self>().to_string())));
    let on_device: Vec<Named> = shape.arguments.iter().map(Argument::on_device).collect();
    let Members { data, checks, copies } = members(&mut lower, &name, &on_device);
    for (ident, words) in shape.arguments.iter().filter_map(Argument::slice) {
        lower.mark_slice(&ident, &words);
    }
    let (mut arrays, mut bytes) = (String::new(), "0u".to_string());
    for (ident, ty) in &shape.arrays {
        let ty = mark(lower.hole(quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit))));
        let binding = |name| Binding { by_mut_ref: true, ..Binding::variable(name) };
        let array = lower.declare(ident, binding);
        arrays.push_str(&format!("    {ty}& {array} = *({ty}*)(room + ({bytes}));\n"));
        bytes.push_str(&format!(" + (sizeof({ty}) + 15u) / 16u * 16u"));
    }
    let output = output(signature);
    let output =
        mark(lower.hole(quote!(<#output as ::warpweft::element::DeviceType>::cuda(__unit))));
    let wanted = returns_value(&signature.output);
    let (shadow, mut block) = lower.body(&function.block, wanted)?;
    block.statements.splice(0..0, copies);
    let returns = if wanted { Returns::Value } else { Returns::Unit };
    // Lanes that left a loop after a fault, each at its own time, would miss barriers.
    let body = Cuda::body(&block, returns, 2);
    let kept = body.lines().filter(|line| !line.contains(IF_FAULTS));
    let body = kept.fold(String::new(), |text, line| text + line + "\n");
    let text = format!(
        "struct {name} {{
{data}  using Output = {output};
  static constexpr ww::u32 NUMBER = {number}, JOIN_WORDS = ({size}u + 3u) / 4u, STACK_WORDS = 0u, START_WORDS = JOIN_WORDS, SLOT_WORDS = 0u, PUSHED = 0u, TAIL = 0u;
  static constexpr bool TEAM = true;
  static WW_FN ww::u32 pushed_at(ww::u32) {{ return 0u; }}
  static WW_FN ww::u32 pushed(ww::u32) {{ return 0u; }}
  static constexpr ww::u32 TEAM_BYTES = {bytes}, LANES = {lanes}u;
  struct Joins {{}};
  template<class Team> WW_FN Output team(const Team& {TEAM}, unsigned char* room) const {{
{arrays}{}  }}
}};
{checks}",
        body,
    );
    let text = weave_used(&text, &lower.holes);
    let note = format!("team {lanes}");
    let (body, note) = (quote!(::std::string::String::new()), quote!(#note.to_string()));
    Ok(Form { slots: lower.slots, shadow, text, body, note })
}

/// The team by its name in Rust.
struct Lanes<'s>(&'s Ident);

impl Inputs for Lanes<'_> {
    fn input(&mut self, _: &E, _: &mut Lower) -> syn::Result<Option<Lowered>> {
        Ok(None)
    }

    fn operation(&self, call: &ExprMethodCall) -> Option<syn::Result<Operation>> {
        let E::Path(path) = &*call.receiver else { return None };
        if path.path.get_ident()? != self.0 {
            return None;
        }
        let method = call.method.to_string();
        if !OPERATIONS.contains(&(&*method, call.args.len())) {
            let what = format!("a team has no operation `{method}` of these arguments");
            let instead = "use `lane()`, `lanes()`, `barrier()`, `count(condition)`, `sum(number)` or `prefix_sum(number)`";
            return Some(Err(reject(&call.method, what, instead)));
        }
        Some(Ok(Operation {
            function: format!("ww::team_{method}"),
            receiver: TEAM.into(),
            fault: None,
        }))
    }

    fn bare(&self, name: &Ident) -> Option<syn::Error> {
        (name == self.0).then(|| {
            let instead = format!("ask for the lane: `{name}.lane()`");
            reject(name, format!("`{name}` is the team, not a value"), instead)
        })
    }
}
