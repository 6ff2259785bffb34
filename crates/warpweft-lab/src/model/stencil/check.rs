//! What can't be asked for: numbers out of range, and options that would change nothing.

use warpweft::report::counted;
use warpweft::{Error, Result};

use super::Arguments;
use crate::model::chart;
use crate::model::device::Devices;
use crate::model::scaling::MOST;

impl Arguments {
    /// # Errors
    /// The first that is wrong, with what to do about it.
    pub(super) fn check(&self) -> Result<()> {
        self.plot.as_deref().map_or(Ok(()), chart::check)?;
        if let Some((name, why, hint)) = self.idle() {
            return Err(Error::spec(format!("--{name} {why}"), hint));
        }
        let (gpus, most) = (self.gpus(), MOST.checked_div(self.gpus()).unwrap_or(0));
        if most == 0 {
            let hint = format!("use 1 to {MOST}");
            return Err(Error::spec(format!("{} per node", counted(gpus as u64, "GPU")), hint));
        }
        if let Some(nodes) = self.nodes().iter().find(|&n| !(1..=most).contains(n)) {
            return Err(Error::spec(
                format!("{nodes} nodes of {} each", counted(gpus as u64, self.unit())),
                format!("use 1 to {most} of them: at most {MOST} {}s are simulated", self.unit()),
            ));
        }
        let above_0 = |x: f64| x.is_finite() && x > 0.0;
        let positive = |name, value: Option<f64>| {
            (name, value.unwrap_or(1.0), value.is_none_or(above_0), "more than 0")
        };
        let not_negative = |name, value: Option<f64>| {
            let value = value.unwrap_or(0.0);
            (name, value, value.is_finite() && value >= 0.0, "0 or more")
        };
        let jitter = self.jitter.unwrap_or(0.0);
        let refused = [
            positive("port-bandwidth", self.port_bandwidth),
            positive("rate", self.rate),
            positive("cpu-rate", self.cpu_rate),
            not_negative("launch", self.launch),
            not_negative("cpu-launch", self.cpu_launch),
            not_negative("port-latency", self.port_latency),
            ("jitter", jitter, (0.0..=1.0).contains(&jitter), "0 to 1"),
        ];
        match refused.into_iter().find(|&(_, _, fine, _)| !fine) {
            Some((name, value, _, range)) => {
                Err(Error::spec(format!("--{name} {value}"), format!("give {range}")))
            }
            None => Ok(()),
        }
    }

    /// The same of options of devices that do not work, and of the `noise` of those that are not simulated.
    fn of_other_devices(
        &self,
        noise: &[(&'static str, bool)],
    ) -> Option<(&'static str, String, String)> {
        let of_gpus = [
            ("gpus", self.gpus.is_some()),
            ("gpu", self.gpu.is_some()),
            ("rate", self.rate.is_some()),
            ("launch", self.launch.is_some()),
        ];
        let of_cores =
            [("cpu-rate", self.cpu_rate.is_some()), ("cpu-launch", self.cpu_launch.is_some())];
        let (name, why, hint) = match self.device {
            Devices::Cpu => (first(&of_gpus), "for cores alone", "choose --device gpu or cpu+gpu"),
            Devices::Gpu => (first(&of_cores), "for GPUs alone", "choose --device cpu or cpu+gpu"),
            Devices::Both => (
                first(noise).or(first(&[("no-overlap", self.no_overlap)])),
                "for cores and GPUs together, which are predicted and not simulated",
                "choose --device cpu or gpu",
            ),
        };
        name.map(|name| (name, why.into(), format!("{hint}, or leave it out")))
    }

    /// An option that was given and would change nothing: its name, why it would not, and the hint.
    fn idle(&self) -> Option<(&'static str, String, String)> {
        let out = || "leave it out".to_string();
        let noise = [("jitter", self.jitter.is_some()), ("seed", self.seed.is_some())];
        let port = [
            ("port-latency", self.port_latency.is_some()),
            ("port-bandwidth", self.port_bandwidth.is_some()),
        ];
        if self.app != "heat"
            && let Some(name) =
                first(&[("order", self.order.is_some()), ("dims", self.dims.is_some())])
        {
            return Some((name, format!("of {}, which has but one", self.app), out()));
        }
        if let Some(machine) = self.by_itself() {
            let name = first(&[("scaling", self.scaling.is_some())]).or(first(&port));
            if let Some(name) = name {
                let why = format!("for one {machine} by itself");
                return Some((name, why, "name --nodes as well, or leave it out".into()));
            }
            if let Some(name) = first(&noise) {
                let why =
                    format!("for one {machine} by itself, whose GPUs are chosen without noise");
                return Some((name, why, "name --nodes as well, or leave it out".into()));
            }
        }
        if let Some(of_others) = self.of_other_devices(&noise) {
            return Some(of_others);
        }
        if self.jitter == Some(0.0) && self.seed.is_some() {
            return Some((
                "seed",
                "without noise".into(),
                "give --jitter more than 0, or leave it out".into(),
            ));
        }
        let alone = self.nodes.as_deref().is_some_and(|nodes| nodes.iter().all(|&n| n == 1));
        match first(&port).filter(|_| alone) {
            Some(name) => Some((
                name,
                "for one node, whose port is idle".into(),
                "name more --nodes, or leave it out".into(),
            )),
            None => None,
        }
    }
}

/// The first of these names that was given.
fn first(names: &[(&'static str, bool)]) -> Option<&'static str> {
    names.iter().find(|(_, given)| *given).map(|&(name, _)| name)
}
