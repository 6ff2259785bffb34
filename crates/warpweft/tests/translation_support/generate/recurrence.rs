//! Random recurrences around random functions: which cells they read, and what inputs they have.

use super::{INTS, Signature, Ty};
use crate::translation_support::random::Random;

/// A recurrence that calls `inner`, and the statement that registers it.
pub(super) fn one(
    random: &mut Random,
    number: usize,
    inner: &Signature,
    inputs: usize,
) -> (String, String) {
    let scalar = |random: &mut Random| match random.below(4) {
        0 => "f32",
        1 => "f64",
        _ => random.pick(&INTS),
    };
    let cell = scalar(random);
    let old = random.chance(50);
    let mut earlier: Vec<String> = vec![];
    for _ in 0..1 + random.below(4) {
        let named = ["h.n", "h.w", "h.nw", "h.ne"];
        earlier.push(match random.below(3) {
            0 => random.pick(&named).to_string(),
            1 => format!("h[[0, -{}]]", 1 + random.below(3)),
            _ => format!("h[[-{}, {}]]", 1 + random.below(3), random.below(7) as i64 - 3),
        });
    }
    if old {
        let named = ["old.c", "old.e", "old.s", "old.sw", "old.se"];
        for _ in 0..1 + random.below(3) {
            earlier.push(match random.below(2) {
                0 => random.pick(&named).to_string(),
                _ => format!("old[[{}, {}]]", 1 + random.below(2), random.below(5) as i64 - 2),
            });
        }
    }
    let mut head = vec![format!("h: Earlier<{cell}>")];
    if old {
        head.push(format!("old: Old<{cell}>"));
    }
    let mut scalars: Vec<(String, &str)> = earlier.into_iter().map(|read| (read, cell)).collect();
    for (marker, name) in [("row", "a"), ("column", "b"), ("cell", "x")] {
        if random.chance(60) {
            let ty = scalar(random);
            head.push(format!("#[{marker}] {name}: {ty}"));
            scalars.push((name.into(), ty));
        }
    }
    // What is no number is a parameter of the element; every cell and input goes somewhere.
    let (mut parameters, mut arguments) = (vec![], vec![]);
    let mut next = 0;
    for (i, ty) in inner.arguments.iter().enumerate() {
        match ty {
            Ty::Int(_) | Ty::Float(_) => {
                arguments.push(format!("{} as {}", scalars[next % scalars.len()].0, ty.name()));
                next += 1;
            }
            Ty::Bool => {
                let (value, of) = &scalars[next % scalars.len()];
                arguments.push(format!("{value} > (1 as {of})"));
                next += 1;
            }
            _ => {
                head.push(format!("p{i}: {}", ty.name()));
                parameters.push((i, ty.name()));
                arguments.push(format!("p{i}"));
            }
        }
    }
    let rest: String = scalars
        .iter()
        .skip(next)
        .map(|(value, _)| format!("    sum = sum.rotate_left(5) ^ ({value} as i64);\n"))
        .collect();
    let name = format!("wave{number}");
    let text = format!(
        "#[wavefront]\npub fn {name}({}) -> {cell} {{\n    let mut sum = h.w as i64;\n{rest}    let inner = {}({});\n    (inner.1 ^ sum) as {cell}\n}}\n",
        head.join(", "),
        inner.name,
        arguments.join(", "),
    );
    let values: String = parameters
        .iter()
        .map(|(i, ty)| format!("let p{i}: {ty} = Flat::sample(&mut random); "))
        .collect();
    let spelled: String =
        parameters.iter().map(|(i, _)| format!("p{i}.cuda_value(&mut unit), ")).collect();
    let given: String = parameters.iter().map(|(i, _)| format!("p{i}, ")).collect();
    let call = format!(
        "    {{ let mut random = Random({}); let mut unit = Unit::new(); {values}let spelled: &[String] = &[{spelled}]; cases.add_wavefront({name}({given}), spelled, &given::<{name}>({}, {inputs})); }}\n",
        random.next(),
        random.next(),
    );
    (text, call)
}
