//! What others take for the cases: rayon's program, run next to them, and published times.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use warpweft::prelude::*;
use warpweft_terminal::output::note;

use super::cases::answer;
use crate::bench::{Options, peers};

/// One figure of a peer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Peer {
    pub peer: String,
    pub app: String,
    pub n: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    pub seconds: f64,
    /// Published, not measured here.
    #[serde(default)]
    pub cited: bool,
    /// Its seconds over those of the figure next to it: of the cores, or of the GPU for what is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_as_long: Option<f64>,
}

/// A time that the paper of GTaP gives.
pub fn cited((app, n, seconds): (&str, u32, f64)) -> Peer {
    Peer {
        peer: "GTaP on a GH200".into(),
        app: app.into(),
        n,
        threads: None,
        value: None,
        seconds,
        cited: true,
        times_as_long: None,
    }
}

/// The same by rayon, where its program is built or cargo builds it.
pub fn rayon(options: &Options, app: &str, n: u32, threads: usize) -> Result<Vec<Peer>> {
    let folder = options.peers.join("channels_rayon");
    let program = folder.join("target/release/channels_rayon");
    if !program.exists() && !peers::built(&folder) {
        note(&format!("no peer: {} can't be built", folder.display()));
        return Ok(Vec::new());
    }
    let repeats = if n > 13 && app == "queens" { 1 } else { options.repeats };
    let arguments = [app.to_string(), n.to_string(), threads.to_string(), repeats.to_string()];
    let found = peers::run(Command::new(&program).args(arguments), &program)?;
    found.into_iter().map(|peer| checked(peer, answer(app, n), &program)).collect()
}

/// The peer's figure, if it gives what is right.
fn checked(peer: Peer, expect: u64, program: &Path) -> Result<Peer> {
    if peer.value == Some(expect) {
        return Ok(peer);
    }
    let what = match peer.value {
        Some(value) => format!("{} {} gave {value} instead of {expect}", peer.app, peer.n),
        None => format!("{} {} told no `value`", peer.app, peer.n),
    };
    Err(Error::file(program, what, "build the other program again; its figure is wrong"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_wrong_or_silent_is_refused() {
        let peer = |value| {
            let text =
                format!(r#"{{"peer": "rayon", "app": "fib", "n": 30, {value} "seconds": 1}}"#);
            let peer: Peer = serde_json::from_str(&text).unwrap();
            checked(peer, answer("fib", 30), "p".as_ref())
        };
        assert_eq!(peer(r#""value": 832040,"#).unwrap().value, Some(832_040));
        let wrong = peer(r#""value": 832041,"#).unwrap_err().to_string();
        assert!(wrong.contains("fib 30 gave 832041 instead of 832040"), "{wrong}");
        assert!(peer("").unwrap_err().to_string().contains("told no `value`"));
        assert_eq!(answer("queens", 8), 92);
    }
}
