//! C++ of a frame that values of calls arrive in: its members, how it is kept as words, and how a value gets there.
//!
//! `save` and `load` turn a frame into words. A value goes to the frame itself (`arrive`) while the call that waits is on
//! the same lane's stack. Otherwise it goes to words that begin with zeros (`deliver`), which are combined with the frame
//! when all calls have ended (`merge`): a stored value by the bits that it has and the variable, zero until then, lacks.

use crate::emit::{Held, Routine, States, Target, Typed, how_number};

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
    let mut members: Vec<_> =
        routine.members.iter().map(|it| Member::of(it, &is_uniform)).collect();
    let mut held = routine.states.held.clone();
    if early {
        let (name, ty, uniform) = ("finished".into(), "Output".into(), false);
        members.push(Member { name, ty, uniform });
        held.push(routine.states.finished(routine.last_wait));
    }
    let each = |line: &dyn Fn(usize, &Member) -> String| -> String {
        let lines = members.iter().enumerate();
        lines.map(|(at, member)| member.guarded(line(at, member))).collect()
    };
    let declared = each(&|_, Member { name, ty, .. }| format!("    {ty} {name};\n"));
    let loads = each(&|at, Member { name, .. }| format!("    W::get(w + AT_{at}, f.{name});\n"));
    let slots: Vec<_> = routine.targets.iter().map(slot_words).collect();
    let slots = slots.join(" + ");
    format!(
        "  struct Joins {{
{declared}  }};
#if WW_BLOCK_TEAMS
{}#else
{}#endif
  static constexpr ww::u32 SLOT_WORDS = 0u{}{slots};
  template<class W> static WW_FN void load(Joins& f, const ww::u32* w) {{
{loads}  }}
{}{}{}  template<bool GOES_ON, class Lane> static WW_FN void joins(Lane& lane, Joins& f, ww::u32& at, const {name}& given);
",
        apart(&members),
        shared(&members, &held, routine),
        if slots.is_empty() { "" } else { " + " },
        pushed(routine),
        arrivals(&routine.targets, routine.sites),
        if early { finish(routine) } else { String::new() },
    )
}

/// A variable of a frame.
struct Member {
    name: String,
    ty: String,
    uniform: bool,
}

impl Member {
    fn of(member: &Typed, is_uniform: impl Fn(&Typed) -> bool) -> Self {
        let (name, ty) = (member.name.to_string(), member.ty.clone());
        Self { name, ty, uniform: is_uniform(member) }
    }

    /// `line`, where the frame has the variable.
    fn guarded(&self, line: String) -> String {
        if self.uniform { format!("#if !WW_UNIFORM\n{line}#endif\n") } else { line }
    }

    fn words(&self) -> String {
        match self.uniform {
            true => format!("(WW_UNIFORM ? 0u : {})", words(&self.ty)),
            false => words(&self.ty),
        }
    }

    fn put(&self, at: usize) -> String {
        format!("W::put(w + AT_{at}, f.{});", self.name)
    }
}

/// A frame as words in which each variable has some of its own.
fn apart(members: &[Member]) -> String {
    let (mut places, mut end, mut puts) = (String::new(), "0u".to_string(), String::new());
    for (at, member) in members.iter().enumerate() {
        places.push_str(&format!("  static constexpr ww::u32 AT_{at} = {end};\n"));
        end = format!("AT_{at} + {}", member.words());
        puts.push_str(&member.guarded(format!("    {}\n", member.put(at))));
    }
    format!(
        "{places}  static constexpr ww::u32 JOIN_WORDS = {end};
  template<class W> static WW_FN void store(const Joins& f, ww::u32, ww::u32, ww::u32* w) {{
{puts}  }}
"
    )
}

/// A frame as words in which variables that are never needed together share some.
fn shared(members: &[Member], held: &[Held], routine: &Routine) -> String {
    let classes = States::classes(held, routine.states.sites, |at| members[at].uniform);
    let (mut places, mut end, mut puts) = (String::new(), "0u".to_string(), String::new());
    let [mut stacked, mut started] = [const { String::new() }; 2].map(|_| "0u".to_string());
    for (number, class) in classes.iter().enumerate() {
        let first = class[0];
        places.push_str(&format!("  static constexpr ww::u32 AT_{first} = {end};\n"));
        let mut size = members[first].words();
        for (more, &at) in class[1..].iter().enumerate() {
            let (name, words) = (format!("SIZE_{number}_{more}"), members[at].words());
            places.push_str(&format!(
                "  static constexpr ww::u32 AT_{at} = AT_{first}, {name} = {size} > {words} ? {size} : {words};\n"
            ));
            size = name;
        }
        end = format!("AT_{first} + {size}");
        if class.iter().any(|&at| held[at].is_stacked()) {
            stacked.clone_from(&end);
        }
        if let Some(&at) = class.iter().find(|&&at| held[at].first) {
            started = format!("AT_{first} + {}", members[at].words());
        }
        puts.push_str(&stores(class, members, held));
    }
    let starts: String = (0..members.len())
        .filter(|&at| held[at].first)
        .map(|at| members[at].guarded(format!("    {}\n", members[at].put(at))))
        .collect();
    format!(
        "{places}  static constexpr ww::u32 JOIN_WORDS = {end}, STACK_WORDS = {stacked}, START_WORDS = {started};
  template<class W> static WW_FN void store(const Joins& f, ww::u32 site, ww::u32 label, ww::u32* w) {{
{puts}  }}
  template<class W> static WW_FN void start(const Joins& f, ww::u32* w) {{
{starts}  }}
"
    )
}

/// Stores the one of a class that is needed.
fn stores(class: &[usize], members: &[Member], held: &[Held]) -> String {
    if let [one] = class[..] {
        return members[one].guarded(format!("    {}\n", members[one].put(one)));
    }
    let (last, others) = class.split_last().unwrap_or((&0, &[]));
    let others = others.iter().map(|&at| {
        let condition = held[at].condition();
        format!("    if ({condition}) {}\n    else\n", members[at].put(at))
    });
    let text: String = others.collect();
    format!("{text}    {}\n", members[*last].put(*last))
}

/// The states in which a frame is on a stack, as numbers.
fn pushed(routine: &Routine) -> String {
    let pairs = &routine.states.pairs;
    let at = |(site, label): &(u32, u32)| label | site << 10;
    let mut states: Vec<_> = pairs.iter().map(at).collect();
    let count = states.len();
    // What is none of the others is the last.
    let last = states.pop().unwrap_or_default();
    let numbers: String = states
        .iter()
        .enumerate()
        .map(|(number, at)| format!("    if (number == {number}u) return {at}u;\n"))
        .collect();
    let back: String = states
        .iter()
        .enumerate()
        .map(|(number, at)| format!("    if (at == {at}u) return {number}u;\n"))
        .collect();
    format!(
        "  static constexpr ww::u32 PUSHED = {count}u;
  static WW_FN ww::u32 pushed_at(ww::u32 number) {{
{numbers}    return {last}u;
  }}
  static WW_FN ww::u32 pushed(ww::u32 at) {{
{back}    return {}u;
  }}
",
        count.saturating_sub(1)
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
        let Target { name, how, sites, .. } = target;
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
      at = lane.at_wait({label}u);
      return;
    }}
    lane.give(value);
  }}
"
    )
}
