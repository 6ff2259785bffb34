//! What a computation is, as text and as a short hash: ranks compare it before they begin, and
//! checkpoints before they are resumed.

use sha2::{Digest, Sha256};

use super::Spec;
use super::stage::Stage;
use warpweft_core::element::Unit;
use warpweft_core::grid::{Axes, across};

/// Everything that a stage computes but for its parameters: code and footprint.
pub(crate) fn code(stage: &dyn Stage) -> String {
    let mut unit = Unit::new();
    let functor = stage.cuda(&mut unit);
    format!("{functor}\n{:?}\n{:?}\n{}", stage.taps(), stage.writes(), unit.source())
}

/// The first 16 hexadecimal digits of the text's SHA-256.
pub(crate) fn short_hash(text: &str) -> String {
    let hash = Sha256::digest(text);
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What a computation is of, by which two can be told apart: the part's name and its value, or the hash of
/// one that is long.
pub(crate) type Part = (String, String);

/// Values of more letters are told by their hash.
const SHORT: usize = 60;

impl Spec {
    /// Code, parameters, fields, boundaries and sources.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut codes: Vec<_> = self.stages.iter().map(|stage| code(&**stage)).collect();
        let of_stage = |stage: &std::sync::Arc<dyn Stage>| {
            written(|unit| spoken(&stage.parameters_text(unit)))
        };
        let mut parameters: Vec<_> = self.stages.iter().map(of_stage).collect();
        for (_, _, function) in self.function_faces() {
            codes.push(written(|unit| function.cuda(unit)));
            parameters.push(written(|unit| spoken(&function.parameters_text(unit))));
        }
        parameters.retain(|of| !of.is_empty());
        let fields = self.cell.fields().iter();
        let fields: Vec<_> =
            fields.map(|field| format!("{} {}", field.name, field.kind.name())).collect();
        let sources = self.points.sources.iter().map(|source| format!("{source:?}"));
        let all = [
            ("code", codes),
            ("parameters", parameters),
            ("fields", fields),
            ("boundaries", vec![self.boundaries.to_string()]),
            ("sources", sources.collect()),
        ];
        let shown = |values: Vec<String>| match values.join("; ") {
            none if none.is_empty() => "none".into(),
            short if short.len() <= SHORT && !short.contains('\n') => short,
            long => format!("hash {}", short_hash(&long)),
        };
        all.into_iter().map(|(name, values)| (name.into(), shown(values))).collect()
    }

    /// What is computed over `extents`: names to read and a hash of its [parts](Spec::parts). Not part of it:
    /// for how long, and on what.
    pub(crate) fn identity(&self, extents: Axes<usize>) -> String {
        let names: Vec<_> = self.stages.iter().map(|stage| stage.name()).collect();
        let mut kinds: Vec<_> = self.cell.fields().iter().map(|field| field.kind.name()).collect();
        kinds.dedup();
        let cells = match self.cell.len() {
            1 => kinds.join(""),
            fields => format!("{fields} fields of {}", kinds.join(", ")),
        };
        let name = self.name.clone().unwrap_or_else(|| names.join(" + "));
        format!(
            "{name} of {cells} over {} ({})",
            across(&extents),
            short_hash(&format!("{:?}", self.parts()))
        )
    }
}

/// What `write` says, and what else it defines for that.
fn written(write: impl FnOnce(&mut Unit) -> String) -> String {
    let mut unit = Unit::new();
    let said = write(&mut unit);
    match unit.source() {
        none if none == Unit::new().source() => said,
        more => format!("{said}\n{more}"),
    }
}

/// Parameters as people write them, out of the C++ that is exact: `(0x1.999999999999ap-4), ww::i32(3)` is
/// `0.1, 3`. Others than plain numbers stay, all of them: what is between two commas may be part of one.
fn spoken(parameters: &str) -> String {
    let plain = |kind: &str| kind.bytes().all(|letter| letter.is_ascii_alphanumeric());
    let one = |text: &str| -> Option<String> {
        let inner = text.strip_suffix(')').and_then(|text| text.split_once('('));
        match inner {
            Some(("", float)) => decimal(float),
            Some((kind, number)) if number.parse::<i64>().is_ok() => {
                kind.strip_prefix("ww::").filter(|kind| plain(kind)).map(|_| number.into())
            }
            None if plain(text) => Some(text.into()),
            _ => None,
        }
    };
    let told: Option<Vec<String>> = parameters.split(", ").map(one).collect();
    told.map_or_else(|| parameters.into(), |told| told.join(", "))
}

/// The shortest decimal that a float in C++ is nearest to, where it has one; an `f` at its end makes it an `f32`.
fn decimal(text: &str) -> Option<String> {
    let (digits, single) = text.strip_suffix('f').map_or((text, false), |digits| (digits, true));
    let value: f64 = match digits.trim_start_matches('-').strip_prefix("0x") {
        None => digits.parse().ok()?,
        Some(_) => hexadecimal(digits)?,
    };
    Some(if single { format!("{:?}", value as f32) } else { format!("{value:?}") })
}

/// The value of `0x1.8p-3`, with or without a sign.
pub(crate) fn hexadecimal(digits: &str) -> Option<f64> {
    let text = digits.trim_start_matches('-').strip_prefix("0x")?;
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let bits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent = exponent.parse::<i32>().ok()? - 4 * fraction.len() as i32;
    // In two steps, for the first may be below the least power of two.
    let value = bits as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    Some(if digits.starts_with('-') { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::spoken;
    use crate::prelude::*;
    use warpweft_core::element::{DeviceType, Unit};

    #[stencil]
    fn decay(u: Near<f32, 1>, rate: f32) -> f32 {
        rate * u[[0]] + u[[1]]
    }

    #[boundary]
    fn tide(at: [i64; 1], step: u64, rate: f32) -> f32 {
        rate * (at[0] as f32 + step as f32)
    }

    #[test]
    fn parameters_are_told_as_they_were_written() {
        let mut unit = Unit::new();
        let numbers = [0.1, -2.5, 1e300, 5e-324, 0.0, -0.0, 1.0 / 3.0, 123_456.789];
        for number in numbers {
            assert_eq!(spoken(&number.cuda_value(&mut unit)), format!("{number:?}"));
            let single = number as f32;
            if single.is_finite() {
                assert_eq!(spoken(&single.cuda_value(&mut unit)), format!("{single:?}"));
            }
        }
        assert_eq!(
            spoken(&format!("{}, true, ww::i32(-3)", 0.1.cuda_value(&mut unit))),
            "0.1, true, -3"
        );
        let odd = f32::NAN.cuda_value(&mut unit);
        assert_eq!(spoken(&odd), odd);
        let array = [1i32, 2, 3].cuda_value(&mut unit);
        assert_eq!(spoken(&format!("{array}, true")), format!("{array}, true"));
    }

    #[test]
    fn parameters_boundaries_and_extents_tell_computations_apart() {
        let of = |rate| Stencil::of(decay(rate)).boundary(Boundary::Periodic);
        let one = of(0.5).identity([8].into());
        assert!(one.starts_with("decay of f32 over 8 ("), "{one}");
        let named = of(0.5).named("half-life").identity([8].into());
        assert_eq!(named, one.replace("decay", "half-life"));
        assert_eq!(one, of(0.5).until(crate::Residual::Max, 0.1).identity([8].into()));
        assert_ne!(one, of(0.25).identity([8].into()));
        assert_ne!(one, of(0.5).identity([9].into()));
        assert_ne!(one, of(0.5).boundary(Boundary::Neumann).identity([8].into()));
        let by = |rate| of(0.5).boundary_by(tide(rate)).identity([8].into());
        assert_eq!(by(1.0), by(1.0));
        assert_ne!(by(1.0), by(2.0));
    }
}
