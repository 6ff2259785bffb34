//! Sharing a part between CPU and GPU along its slowest axis: equation (8) of B2R, measured.
//!
//! Equation (8) sets the next shares so that both would have ended together at the speeds just
//! measured. Taken alone it follows every outlier and keeps a CPU that only slows the GPU down;
//! here a speed that jumps must be seen twice, and a CPU that does not pay is left out.

/// Planes of each device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Planes of the CPU (x_C); 0 when it is left out.
    pub cpu: usize,
    /// Planes of the GPU (x_G).
    pub gpu: usize,
}

/// What one swap and its steps took with the present shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// T_C: seconds the CPU computed.
    pub cpu: f64,
    /// T_G: seconds the GPU computed.
    pub gpu: f64,
    /// Seconds from swap to swap, the exchange between the two included.
    pub whole: f64,
}

/// Speeds further apart than this factor are not the same speed.
const JUMP: f64 = 1.5;
/// Weight of a new measurement of a known speed.
const WEIGHT: f64 = 0.7;
/// Until all is decided, shares stay when moving planes would gain less than this.
const WORTHWHILE: f64 = 0.02;
/// A gain over the GPU alone that needs no trial; and one for which shares move that were settled, for
/// moving costs.
const CLEAR: f64 = 0.10;

/// Finds the shares. Ask for [`Balance::shares`], run a swap with them, [`Balance::record`].
#[derive(Clone, Debug)]
pub struct Balance {
    planes: usize,
    smallest: usize,
    cpu: usize,
    /// Planes a second of CPU and GPU.
    speeds: [Speed; 2],
    /// Whole seconds with the present shares, the last two.
    whole: [Option<f64>; 2],
    recorded: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Shares move.
    Balancing,
    /// The GPU alone is being tried; the shares and seconds to beat.
    Trial { cpu: usize, together: f64, seen: Option<f64> },
    /// Decided, by trial or by a clear gain; shares still follow the speeds.
    Shared,
    /// Decided: the CPU does not pay.
    Alone,
}

impl Balance {
    /// Shares `planes` planes, at first `cpu_share` of them (0 to 1) to the CPU. No device gets fewer
    /// than `smallest` planes (its ghost zone's depth) unless it gets none.
    pub fn new(planes: usize, smallest: usize, cpu_share: f64) -> Self {
        let smallest = smallest.max(1);
        let state = if planes < 2 * smallest { State::Alone } else { State::Balancing };
        let cpu = (cpu_share.clamp(0.0, 1.0) * planes as f64).round() as usize;
        let cpu = match state {
            State::Alone => 0,
            _ => cpu.clamp(smallest, planes - smallest),
        };
        let speeds = [Speed::default(); 2];
        Self { planes, smallest, cpu, speeds, whole: [None; 2], recorded: 0, state }
    }

    /// The shares of the next swap.
    pub fn shares(&self) -> Shares {
        let cpu =
            if matches!(self.state, State::Trial { .. } | State::Alone) { 0 } else { self.cpu };
        Shares { cpu, gpu: self.planes - cpu }
    }

    /// Whether it is decided if the CPU takes part.
    pub fn decided(&self) -> bool {
        matches!(self.state, State::Shared | State::Alone)
    }

    /// Takes in what the present shares took. Times that are not positive are ignored.
    pub fn record(&mut self, measured: Measured) {
        if !(measured.gpu > 0.0 && measured.whole > 0.0) {
            return;
        }
        let shares = self.shares();
        if let State::Trial { cpu, together, seen } = self.state {
            // The better of two: an outlier must not decide.
            let alone = seen.map_or(measured.whole, |first| first.min(measured.whole));
            self.state = match seen {
                None => State::Trial { cpu, together, seen: Some(alone) },
                Some(_) if alone <= together => State::Alone,
                Some(_) => State::Shared,
            };
            return;
        }
        if shares.cpu == 0 || measured.cpu <= 0.0 || measured.cpu.is_nan() {
            return;
        }
        self.recorded += 1;
        self.whole = [self.whole[1], Some(measured.whole)];
        self.speeds[0].see(shares.cpu as f64 / measured.cpu);
        self.speeds[1].see(shares.gpu as f64 / measured.gpu);
        self.rebalance();
    }

    /// Equation (8) with the speeds believed.
    fn rebalance(&mut self) {
        let (Some(cpu), Some(gpu)) = (self.speeds[0].believed, self.speeds[1].believed) else {
            return;
        };
        if self.speeds.iter().any(|speed| speed.doubted.is_some()) {
            return;
        }
        // T_C/N_C · x_C = T_G/N_G · x_G and x_C + x_G = N.
        let ideal = self.planes as f64 * cpu / (cpu + gpu);
        if self.recorded >= 2 && (ideal.round() as usize) < self.smallest {
            self.state = State::Alone;
            return;
        }
        let next = (ideal.round() as usize).clamp(self.smallest, self.planes - self.smallest);
        let time = |x: usize| (x as f64 / cpu).max((self.planes - x) as f64 / gpu);
        let enough = if self.state == State::Shared { CLEAR } else { WORTHWHILE };
        if time(next) < time(self.cpu) * (1.0 - enough) {
            self.cpu = next;
            self.whole = [None; 2];
        } else if let (State::Balancing, [Some(a), Some(b)]) = (self.state, self.whole) {
            // Settled. Is it worth it? The GPU's time alone, extrapolated, decides clear cases.
            let (together, alone) = (a.min(b), self.planes as f64 / gpu);
            self.state = if together < alone * (1.0 - CLEAR) {
                State::Shared
            } else {
                State::Trial { cpu: self.cpu, together, seen: None }
            };
        }
    }
}

/// A speed measured again and again, outliers among the measurements.
#[derive(Clone, Copy, Debug, Default)]
struct Speed {
    believed: Option<f64>,
    /// A measurement far from what is believed, not yet confirmed.
    doubted: Option<f64>,
}

impl Speed {
    fn see(&mut self, speed: f64) {
        let alike = |a: f64, b: f64| a / b < JUMP && b / a < JUMP;
        match (self.believed, self.doubted) {
            (None, _) => self.believed = Some(speed),
            (Some(known), _) if alike(known, speed) => {
                self.believed = Some(known + WEIGHT * (speed - known));
                self.doubted = None;
            }
            (Some(_), Some(doubted)) if alike(doubted, speed) => {
                self.believed = Some(0.5 * (doubted + speed));
                self.doubted = None;
            }
            _ => self.doubted = Some(speed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft_core::cluster::Jitter;

    /// Two devices with seconds a plane and seconds a swap, and an exchange between them.
    struct Devices {
        cpu: [f64; 2],
        gpu: [f64; 2],
        exchange: f64,
    }

    impl Devices {
        fn run(&self, shares: Shares, noise: [f64; 2]) -> Measured {
            let cpu = (self.cpu[0] * shares.cpu as f64 + self.cpu[1]) * noise[0];
            let gpu = (self.gpu[0] * shares.gpu as f64 + self.gpu[1]) * noise[1];
            let whole = if shares.cpu > 0 { cpu.max(gpu) + self.exchange } else { gpu };
            Measured { cpu, gpu, whole }
        }
    }

    /// |T_C − T_G| over the greater, without noise, after each of `swaps` swaps.
    fn imbalance(
        devices: &Devices,
        swaps: usize,
        spread: f64,
        outlier: Option<(usize, usize)>,
    ) -> Vec<f64> {
        let mut balance = Balance::new(8000, 4, 0.1);
        let mut jitter = Jitter::new(11, spread);
        (0..swaps)
            .map(|swap| {
                let mut noise = [jitter.factor(), jitter.factor()];
                if let Some((at, device)) = outlier
                    && at == swap
                {
                    noise[device] *= 8.0;
                }
                balance.record(devices.run(balance.shares(), noise));
                let m = devices.run(balance.shares(), [1.0; 2]);
                if balance.shares().cpu == 0 {
                    1.0
                } else {
                    (m.cpu - m.gpu).abs() / m.cpu.max(m.gpu)
                }
            })
            .collect()
    }

    /// The CPU a third of the GPU's speed; both with a fixed cost.
    const FAIR: Devices = Devices { cpu: [3e-5, 2e-3], gpu: [1e-5, 1e-3], exchange: 1e-4 };

    #[test]
    fn it_converges_in_fewer_than_five_exchanges() {
        let exact = imbalance(&FAIR, 8, 0.0, None);
        assert!(exact[3..].iter().all(|&i| i < 0.05), "{exact:?}");
        let noisy = imbalance(&FAIR, 12, 0.03, None);
        assert!(noisy[3..].iter().all(|&i| i < 0.15), "{noisy:?}");
    }

    #[test]
    fn one_outlier_at_any_time_on_either_device_does_not_keep_it_from_converging() {
        for at in 0..8 {
            for device in 0..2 {
                let found = imbalance(&FAIR, 12, 0.02, Some((at, device)));
                assert!(
                    found[4..].iter().all(|&i| i < 0.15),
                    "outlier {at} on {device}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn a_lasting_change_of_speed_is_followed() {
        let mut balance = Balance::new(8000, 4, 0.1);
        for _ in 0..6 {
            balance.record(FAIR.run(balance.shares(), [1.0; 2]));
        }
        let before = balance.shares().cpu;
        for _ in 0..6 {
            balance.record(FAIR.run(balance.shares(), [4.0, 1.0]));
        }
        assert!(balance.shares().cpu < before / 2, "{before} to {:?}", balance.shares());
    }

    #[test]
    fn a_cpu_that_pays_is_kept_and_one_that_does_not_gets_nothing() {
        let decide = |devices: &Devices| {
            let mut balance = Balance::new(8000, 4, 0.1);
            let mut jitter = Jitter::new(5, 0.01);
            for _ in 0..12 {
                let noise = [jitter.factor(), jitter.factor()];
                balance.record(devices.run(balance.shares(), noise));
            }
            assert!(balance.decided());
            balance.shares()
        };
        let shares = decide(&FAIR);
        assert!((1800..2100).contains(&shares.cpu), "{shares:?}");
        // So slow that its share would be thinner than its ghost zone.
        assert_eq!(decide(&Devices { cpu: [0.1, 0.0], ..FAIR }).cpu, 0);
        // Speed enough, but the exchange eats the gain.
        assert_eq!(decide(&Devices { exchange: 0.05, ..FAIR }).cpu, 0);
        // A part too thin for two.
        assert_eq!(Balance::new(6, 4, 0.5).shares(), Shares { cpu: 0, gpu: 6 });
    }
}
