//! Applications' speedups as text.

use super::Figure;
use super::whole_run::means;
use crate::bench::extents::extents_of;
use warpweft_terminal::output::scaled;

/// A line an application and size, then the means.
pub fn table(figures: &[Figure]) -> String {
    let mut text =
        String::from("Stencil applications over GPUs, against the best policy of one GPU\n");
    for figure in figures {
        let case = format!("{:<12} {:<18}", figure.app, extents_of(figure.dims, figure.size));
        let measured = match &figure.outcome {
            Ok(measured) => measured,
            Err(why) => {
                text.push_str(&format!("  {case} left out: {why}\n"));
                continue;
            }
        };
        let speedups = &measured.speedups;
        text.push_str(&format!(
            "  {case} {}cells/s on 1, {}cells/s on {}: {:.2} a step, {:.2} with its search, {:.2} after all \
             of it ({:.0} s)\n",
            scaled(measured.one),
            scaled(measured.several),
            measured.gpus,
            speedups.steady,
            speedups.whole_run,
            speedups.strict,
            measured.search,
        ));
    }
    let of = |value: &dyn Fn(&super::Measured) -> f64| {
        let ran = figures.iter().filter_map(|figure| figure.outcome.as_ref().ok());
        means(&ran.map(value).collect::<Vec<_>>())
    };
    let means = [
        ("a step", of(&|it| it.speedups.steady)),
        ("100,000 steps with the search that goes on meanwhile", of(&|it| it.speedups.whole_run)),
        ("100,000 steps after all of the search", of(&|it| it.speedups.strict)),
    ];
    for (what, mean) in means {
        if let Some([geometric, arithmetic]) = mean {
            text.push_str(&format!(
                "  mean of {what}: {geometric:.2} geometric, {arithmetic:.2} arithmetic\n"
            ));
        }
    }
    text
}
