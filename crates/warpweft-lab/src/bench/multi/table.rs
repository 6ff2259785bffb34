//! Figures of scaling as text.

use warpweft::stencil::Policy;

use super::super::extents::extents_of;
use super::super::peers::Peer;
use super::figure::Figure;
use warpweft_terminal::output::scaled;

/// A line a figure, those of a volume together, and what peers did.
pub fn table(figures: &[Figure], peers: &[Peer]) -> String {
    let mut text = String::from("Heat conduction of order 2, f32, over GPUs\n");
    let mut last = (String::new(), 0);
    for figure in figures {
        if figure.scaling == "share" {
            text.push_str(&format!(
                "  a GPU's share alone takes {:.2} us a step: at most {:.2} of the best on one\n",
                figure.microseconds_a_step, figure.over_best,
            ));
            continue;
        }
        if figure.scaling == "alone" {
            text.push_str(&format!(
                "  a GPU alone with one cube, by the best policy of one: {:.2} us a step\n",
                figure.microseconds_a_step
            ));
            continue;
        }
        let name = figure.case.map_or_else(String::new, |name| format!("{name} "));
        let case = format!("{} {name}{}", figure.scaling, extents_of(figure.dims, figure.size));
        if last.0 != case {
            text.push_str(&format!("{case}\n"));
        }
        let first = last != (case.clone(), figure.gpus);
        last = (case, figure.gpus);
        let gpus = if first { figure.gpus.to_string() } else { String::new() };
        let how = match &figure.policy {
            Policy::Cuda(policy) => {
                format!("{:?}, {} fused steps", policy.kernel, policy.temporal_depth)
            }
            Policy::Cpu(_) => String::new(),
        };
        let same = figure.over_same_kernel.map_or("-".into(), |over| format!("{over:.2}"));
        let floor = figure.floor.map_or("-".into(), |floor| format!("{floor:.2}"));
        let slowest = figure.over_slowest.map_or_else(String::new, |over| {
            format!(", {over:.2} of the best on the slowest alone")
        });
        text.push_str(&format!(
            "  {gpus:>1} GPUs {:>9.2} us a step (floor {floor}), {}cells/s, {:.2} of the best on one, {same} of the same kernel{slowest}; {how}\n",
            figure.microseconds_a_step,
            scaled(figure.cells_per_second),
            figure.over_best,
        ));
    }
    text + &peers_of(figures, peers)
}

/// A line a peer, next to the fastest figure of as many GPUs.
fn peers_of(figures: &[Figure], peers: &[Peer]) -> String {
    let mut text = String::new();
    for peer in peers {
        let what = match (peer.cells_per_second, &peer.error) {
            (Some(rate), _) => {
                let gpus = peer.gpus.unwrap_or(1);
                let ours = figures.iter().filter(|it| {
                    (it.scaling, it.dims, it.size, it.gpus)
                        == ("strong", peer.dims, peer.size, gpus)
                });
                let ours = ours.map(|it| it.cells_per_second / rate).fold(f64::NAN, f64::max);
                format!("{}cells/s on {gpus} GPUs; here {ours:.2} times that", scaled(rate))
            }
            (None, Some(why)) => format!("did not run: {why}"),
            _ => continue,
        };
        text.push_str(&format!("  {} {}: {what}\n", peer.peer, extents_of(peer.dims, peer.size)));
    }
    text
}
