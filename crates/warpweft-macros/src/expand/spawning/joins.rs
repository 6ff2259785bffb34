//! C++ of a frame that values of calls arrive in: its members, how it is kept as words, and how a value gets there.
//!
//! `save` and `load` turn a frame into words. A value goes to the frame itself (`arrive`) while the call that waits is on
//! the same lane's stack. Otherwise it goes to words that begin with zeros (`deliver`), which are combined with the frame
//! when all calls have ended (`merge`): a stored value by the bits that it has and the variable, zero until then, lacks.

use crate::emit::{Routine, Target, Typed, how_number};

/// Words of a value of type `ty`.
fn words(ty: &str) -> String {
    format!("(sizeof({ty}) + 3u) / 4u")
}

/// The frame of `routine` and what is done with it; lines for members that `is_uniform` are there only where calls differ in
/// them. `early`: whether the value may be known while calls run.
pub fn frame(
    name: &str,
    routine: &Routine,
    early: bool,
    is_uniform: impl Fn(&Typed) -> bool,
) -> String {
    let each = |line: &dyn Fn(&Typed) -> String| -> String {
        let of = |member: &Typed| match is_uniform(member) {
            true => format!("#if !WW_UNIFORM\n{}#endif\n", line(member)),
            false => line(member),
        };
        routine.members.iter().map(of).collect()
    };
    let members = each(&|Typed { name, ty }| format!("    {ty} {name};\n"));
    let sizes = each(&|Typed { ty, .. }| format!("      + {}\n", words(ty)));
    let saves = each(&|Typed { name, .. }| format!("    w += W::put(w, f.{name});\n"));
    let loads = each(&|Typed { name, .. }| format!("    w += W::get(w, f.{name});\n"));
    let [member, size, save, load, finish] = match early {
        false => [const { String::new() }; 5],
        true => [
            "    Output finished;\n".into(),
            format!("      + {}\n", words("Output")),
            "    w += W::put(w, f.finished);\n".into(),
            "    w += W::get(w, f.finished);\n".into(),
            finish(routine),
        ],
    };
    let slots: Vec<_> = routine.targets.iter().map(slot_words).collect();
    let slots = slots.join(" + ");
    format!(
        "  struct Joins {{
{members}{member}  }};
  static constexpr ww::u32 JOIN_WORDS = 0u
{sizes}{size}  ;
  static constexpr ww::u32 SLOT_WORDS = 0u{}{slots};
  template<class W> static WW_FN void save(const Joins& f, ww::u32* w) {{
{saves}{save}  }}
  template<class W> static WW_FN void load(Joins& f, const ww::u32* w) {{
{loads}{load}  }}
{}{finish}  template<bool GOES_ON, class Lane> static WW_FN void joins(Lane& lane, Joins& f, ww::u32& at, const {name}& given);
",
        if slots.is_empty() { "" } else { " + " },
        arrivals(&routine.targets, routine.sites),
    )
}

/// Words for the value of calls with this target, of which one of 8 bytes begins at an even one.
fn slot_words(Target { name, .. }: &Target) -> String {
    format!("(sizeof(Joins::{name}) + 7u) / 8u * 2u")
}

/// The value of a call goes to its variable, to a word that others share, or from there to its variable.
fn arrivals(targets: &[Target], sites_in_all: u32) -> String {
    let mut before = "0u".to_string();
    let [mut arrive, mut deliver, mut merge] = [const { String::new() }; 3];
    for target in targets {
        let Target { name, how, sites } = target;
        let how = how_number(*how);
        let cases: String = sites.iter().map(|site| format!("case {site}u: ")).collect();
        // All calls may have one target.
        let all = sites.len() as u32 == sites_in_all;
        let cases = if all { "default: ".into() } else { cases };
        arrive.push_str(&format!(
            "      {cases}W::template combine<{how}>(f.{name}, value); break;\n"
        ));
        deliver.push_str(&format!(
            "      {cases}W::template deliver<decltype(Joins::{name}), {how}>(slots + {before}, value); break;\n"
        ));
        merge.push_str(&format!("    W::template merge<{how}>(f.{name}, slots + {before});\n"));
        before.push_str(&format!(" + {}", slot_words(target)));
    }
    let one = matches!(targets, [target] if target.sites.len() as u32 == sites_in_all);
    let rest = if one { "" } else { "default: break;" };
    format!(
        "  template<class W> static WW_FN void arrive(Joins& f, ww::u32 site, const ww::u32* value) {{
    switch (site) {{
{arrive}      {rest}
    }}
  }}
  template<class W> static WW_FN void deliver(ww::u32* slots, ww::u32 site, const ww::u32* value) {{
    switch (site) {{
{deliver}      {rest}
    }}
  }}
  template<class W> static WW_FN void merge(Joins& f, const ww::u32* slots) {{
{merge}  }}
"
    )
}

/// A value that is known while calls may run.
fn finish(routine: &Routine) -> String {
    let label = routine.last_wait;
    format!(
        "  template<bool GOES_ON, class Lane> static WW_FN void finish(Lane& lane, Joins& f, ww::u32& at, const Output& value) {{
    if constexpr (GOES_ON) if (lane.waits()) {{
      f.finished = value;
      at = {label}u;
      return;
    }}
    lane.give(value);
  }}
"
    )
}
